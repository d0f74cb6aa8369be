/* Places in a matrix that sentences count from 0. */
#include "common/place.h"

#include <stdio.h>
#include <string.h>

/* The place need not be at the beginning: the name of a file or the number of a rank may come before it. */
void place_from_1(char *text, size_t room)
{
  char rest[2048];
  long long row, col;
  int end = 0;
  char *at = strstr(text, "row ");
  while (at && (sscanf(at, "row %lld, column %lld, counted from 0%n", &row, &col, &end) != 2 || !end)) at = strstr(at + 1, "row ");
  if (!at) return;
  snprintf(rest, sizeof rest, "%s", at + end);
  snprintf(at, room - (size_t)(at - text), "row %lld, column %lld, counted from 1%s", row + 1, col + 1, rest);
}
