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

/* Of count names the one at the least distance from text; of several the longest, as letters are left out more often than they are
 * put in, and of these the first. */
static inline int macko_nearest_name(const char *text, const char *const *names, int count)
{
  int nearest = 0;
  for (int i = 1; i < count; i++) {
    int further = macko_name_distance(text, names[i]) - macko_name_distance(text, names[nearest]);
    if (further < 0 || (!further && strlen(names[i]) > strlen(names[nearest]))) nearest = i;
  }
  return nearest;
}

/* The nearest name where text is near enough to be meant for it, with a letter in three wrong at the most; else NULL. */
static inline const char *macko_near_name(const char *text, const char *const *names, int count)
{
  const char *nearest = names[macko_nearest_name(text, names, count)];
  return 3 * macko_name_distance(text, nearest) <= (int)strlen(text) ? nearest : NULL;
}

#endif
