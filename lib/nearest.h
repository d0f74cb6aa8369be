/* The name that a misspelt one is nearest to, for sentences. */
#ifndef MACKO_NEAREST_H
#define MACKO_NEAREST_H

#include <string.h>

/* Levenshtein distance; of a name longer than 62 characters: far. */
static inline int macko_name_distance(const char *a, const char *b)
{
  int row[64], n = (int)strlen(b);
  if (n > 62) return 1000;
  for (int j = 0; j <= n; j++) row[j] = j;
  for (int i = 0; a[i] && i < 64; i++) {
    int diagonal = row[0];
    row[0] = i + 1;
    for (int j = 1; j <= n; j++) {
      int change = diagonal + (a[i] != b[j - 1]), best = row[j - 1] < row[j] ? row[j - 1] + 1 : row[j] + 1;
      diagonal = row[j];
      row[j] = change < best ? change : best;
    }
  }
  return row[n];
}

/* The first of count names that is at the least distance from text. */
static inline int macko_nearest_name(const char *text, const char *const *names, int count)
{
  int nearest = 0;
  for (int i = 1; i < count; i++)
    if (macko_name_distance(text, names[i]) < macko_name_distance(text, names[nearest])) nearest = i;
  return nearest;
}

#endif
