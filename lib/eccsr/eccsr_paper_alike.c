/* Rows that have columns in common with some rows, found in one pass over the matrix by signatures alone: for samples, which have
 * no time for the search of eccsr_paper_pairs.c. */
#include "eccsr/eccsr_paper_sample.h"
#include "eccsr/eccsr_paper_signature.h"

#include <stdlib.h>
#include <string.h>

enum { BANDS = MACKO_ECCSR_BANDS,
       MOST = MACKO_ECCSR_MOST_SAMPLED,
       PLACES = 4 * MOST * BANDS, /* of a hash table, a power of two */
       NOTHING = -1 };

/* What threads share. Hashes of the seeds are in a table of lists, so that a row finds those that it agrees with at once; number
 * e is band e % BANDS of seed e / BANDS. */
typedef struct {
  const macko_csr *a;
  const macko_eccsr_alike *seeds;
  int64_t least;
  macko_eccsr_signature signatures[MOST];
  int16_t first[PLACES], next[MOST * BANDS];
  uint64_t *found; /* [part][seed][row]: the best ones, ascending */
  int64_t *count;  /* [part][seed] */
} search;

/* Signs row i; one that has too few columns to be in a block with others agrees with nothing. */
static void sign_row(const search *s, int64_t i, macko_eccsr_signature *signature)
{
  const int64_t p = macko_csr_row(s->a, i), past = macko_csr_row(s->a, i + 1);
  macko_eccsr_sign_nothing(signature);
  for (int64_t k = p; k < past && past - p >= s->least; k++) macko_eccsr_sign_column(signature, macko_csr_col(s->a, k));
}

/* Returns the place of a hash in the table. */
static int64_t place_of(int band, uint32_t hash)
{
  return (int64_t)(macko_mix((uint64_t)band << 32 | hash) % PLACES);
}

/* Signs the seeds and puts their hashes into the table. */
static void enter_seeds(search *s)
{
  memset(s->first, 0xff, sizeof s->first);
  for (int k = 0; k < s->seeds->count; k++) {
    sign_row(s, s->seeds->seeds[k], &s->signatures[k]);
    for (int b = 0; b < BANDS; b++) {
      const uint32_t hash = s->signatures[k].band[b];
      int16_t *place = &s->first[place_of(b, hash)];
      if (hash == UINT32_MAX) continue;
      s->next[k * BANDS + b] = *place, *place = (int16_t)(k * BANDS + b);
    }
  }
}

/* Adds to agree[k] the bands in which a signature agrees with that of seed k. */
static void count_bands(const search *s, const macko_eccsr_signature *signature, int agree[MOST])
{
  memset(agree, 0, MOST * sizeof *agree);
  for (int b = 0; b < BANDS; b++) {
    const uint32_t hash = signature->band[b];
    if (hash == UINT32_MAX) continue;
    for (int e = s->first[place_of(b, hash)]; e != NOTHING; e = s->next[e])
      agree[e / BANDS] += e % BANDS == b && s->signatures[e / BANDS].band[b] == hash;
  }
}

/* Keeps a row, as a number that is less the better it is, if it is among the best ones. */
static void keep(uint64_t *best, int64_t *count, int64_t most, uint64_t row)
{
  int64_t at = *count;
  if (at == most && best[at - 1] <= row) return;
  while (at > 0 && best[at - 1] > row) at--;
  if (*count < most) ++*count;
  memmove(best + at + 1, best + at, (size_t)(*count - at - 1) * sizeof *best);
  best[at] = row;
}

/* Compares rows from .. to - 1 with all seeds, as a macko_part. Of rows that agree alike it is chance that chooses, as neither the
 * first nor the last ones stand for all; the row itself makes numbers differ. */
static void compare_rows(void *context, int part, int64_t from, int64_t to)
{
  search *s = context;
  const int64_t seeds = s->seeds->count, most = s->seeds->most;
  for (int64_t i = from; i < to; i++) {
    macko_eccsr_signature signature;
    int agree[MOST];
    sign_row(s, i, &signature);
    count_bands(s, &signature, agree);
    for (int64_t k = 0; k < seeds; k++)
      if (agree[k])
        keep(s->found + (part * seeds + k) * most, &s->count[part * seeds + k], most,
             (uint64_t)(BANDS - agree[k]) << 48 | (macko_mix((uint64_t)i) & 0xffff) << 32 | (uint64_t)i);
  }
}

/* Sets the rows of seed k to the best ones of all parts. */
static void merge_parts(const search *s, int parts, int64_t k)
{
  const int64_t seeds = s->seeds->count, most = s->seeds->most;
  for (int part = 1; part < parts; part++)
    for (int64_t i = 0; i < s->count[part * seeds + k]; i++)
      keep(s->found + k * most, &s->count[k], most, s->found[(part * seeds + k) * most + i]);
  s->seeds->found[k] = s->count[k];
  for (int64_t i = 0; i < s->count[k]; i++) s->seeds->rows[k * most + i] = (int32_t)(s->found[k * most + i] & UINT32_MAX);
}

/* Which rows are found does not depend on parts, since each part keeps as many as are wanted in all. */
macko_status macko_eccsr_find_alike(const macko_csr *a, int64_t least, macko_eccsr_alike *seeds, macko_error *err)
{
  const macko_cut cut = macko_cut_rows(a, 1);
  const int parts = macko_parts(macko_csr_nnz(a));
  const size_t lists = (size_t)parts * (size_t)seeds->count;
  search *s = calloc(1, sizeof *s);
  uint64_t *found = malloc(lists * (size_t)seeds->most * sizeof *found);
  int64_t *count = calloc(lists, sizeof *count);
  const int made = s && found && count;
  if (made) {
    s->a = a, s->seeds = seeds, s->least = least, s->found = found, s->count = count;
    enter_seeds(s);
    macko_do_parts(&cut, parts, compare_rows, s);
    for (int64_t k = 0; k < seeds->count; k++) merge_parts(s, parts, k);
  }
  free(s), free(found), free(count);
  return made ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look for rows that share columns");
}
