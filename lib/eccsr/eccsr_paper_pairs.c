/* Pairs of column sets that have many columns in common, without comparing all with all: candidates by MinHash, compared in
 * full. */
#include "core/threads.h"
#include "eccsr/eccsr_paper.h"
#include "eccsr/eccsr_paper_signature.h"

#include <stdlib.h>
#include <string.h>

enum { BANDS = MACKO_ECCSR_BANDS, NOTHING = -1 };

/* What threads share while they look for pairs. */
typedef struct {
  const macko_eccsr_sets *sets;
  int64_t least;
  const int32_t *partner;
  macko_eccsr_signature *signatures;
  int32_t *before;         /* [set][band]: a set before it with the same hash, or NOTHING */
  macko_eccsr_pair *pairs; /* [set][candidate] */
} search;

/* Tells whether a partner is looked for, for set i: it has none yet, and enough columns for one. */
static int is_free(const search *f, int64_t i)
{
  return f->partner[i] < 0 && f->sets->starts[i + 1] - f->sets->starts[i] >= f->least;
}

/* Returns the columns of set i. */
static int64_t size_of(const macko_eccsr_sets *sets, int64_t i)
{
  return sets->starts[i + 1] - sets->starts[i];
}

/* Signs sets from .. to - 1, as a macko_part. Sets for which no partner is looked for agree with nothing. */
static void sign_sets(void *context, int part, int64_t from, int64_t to)
{
  search *f = context;
  (void)part;
  for (int64_t i = from; i < to; i++) {
    macko_eccsr_sign_nothing(&f->signatures[i]);
    for (int64_t p = f->sets->starts[i]; p < f->sets->starts[i + 1] && is_free(f, i); p++)
      macko_eccsr_sign_column(&f->signatures[i], f->sets->cols[p]);
  }
}

/* Finds for every set and band the last set before it with the same hash. A table has the set that was last seen at each place;
 * another hash that falls into the same place only loses a candidate. Each set thus sees few others, however many share a
 * frequent hash. Errors: OUT_OF_MEMORY. */
static macko_status link_sets(search *f, macko_error *err)
{
  int64_t places = 2;
  while (places < 2 * f->sets->count) places *= 2;
  int32_t *last = malloc((size_t)places * sizeof *last);
  if (!last) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look for rows that share columns");
  for (int b = 0; b < BANDS; b++) {
    memset(last, 0xff, (size_t)places * sizeof *last);
    for (int64_t i = 0; i < f->sets->count; i++) {
      const uint32_t hash = f->signatures[i].band[b];
      int32_t *place = &last[macko_mix(hash) & (uint64_t)(places - 1)], *before = &f->before[i * BANDS + b];
      *before = NOTHING;
      if (hash == UINT32_MAX) continue;
      if (*place != NOTHING && f->signatures[*place].band[b] == hash) *before = *place;
      *place = (int32_t)i;
    }
  }
  free(last);
  return MACKO_OK;
}

/* Returns in how many bands two signatures agree. */
static int agreement(const macko_eccsr_signature *a, const macko_eccsr_signature *b)
{
  int count = 0;
  for (int i = 0; i < BANDS; i++) count += (a->band[i] == b->band[i]) & (a->band[i] != UINT32_MAX);
  return count;
}

/* Keeps set j as a candidate of set i if it is among those that agree in most bands, of equals the later ones. best has *count
 * candidates, sorted. */
static void take_candidate(macko_eccsr_pair *best, int *count, int32_t i, int32_t j, int agree)
{
  int at = *count;
  for (int k = 0; k < *count; k++)
    if (best[k].first == j) return;
  while (at > 0 && (best[at - 1].shared < agree || (best[at - 1].shared == agree && best[at - 1].first < j))) at--;
  if (at == MACKO_ECCSR_CANDIDATES) return;
  if (*count < MACKO_ECCSR_CANDIDATES) ++*count;
  memmove(best + at + 1, best + at, (size_t)(*count - at - 1) * sizeof *best);
  best[at] = (macko_eccsr_pair){j, i, agree};
}

/* Every round writes the column before it is known to be common, as nobody could foresee a branch. */
int64_t macko_eccsr_intersect(const int32_t *a, int64_t na, const int32_t *b, int64_t nb, int32_t *common)
{
  int64_t i = 0, j = 0, count = 0;
  while (i < na && j < nb) { /* without a branch that cannot be foreseen */
    const int32_t x = a[i], y = b[j];
    if (common) common[count] = x;
    count += x == y, i += x <= y, j += y <= x;
  }
  return count;
}

/* Compares sets from .. to - 1 with their best candidates in full, as a macko_part. A set without any is compared with the one
 * before it, as neighbours often share columns. Pairs that do not count get 0 columns. */
static void compare_sets(void *context, int part, int64_t from, int64_t to)
{
  search *f = context;
  const macko_eccsr_sets *s = f->sets;
  (void)part;
  for (int64_t i = from; i < to; i++) {
    macko_eccsr_pair *best = f->pairs + i * MACKO_ECCSR_CANDIDATES;
    int count = 0;
    for (int b = 0; b < BANDS; b++) {
      const int32_t j = f->before[i * BANDS + b];
      if (j != NOTHING) take_candidate(best, &count, (int32_t)i, j, agreement(&f->signatures[i], &f->signatures[j]));
    }
    if (i && count == 0) take_candidate(best, &count, (int32_t)i, (int32_t)i - 1, 0);
    for (int k = 0; k < MACKO_ECCSR_CANDIDATES; k++) {
      const int64_t j = k < count ? best[k].first : NOTHING;
      int64_t shared = 0;
      if (j != NOTHING && is_free(f, i) && is_free(f, j))
        shared = macko_eccsr_intersect(s->cols + s->starts[i], size_of(s, i), s->cols + s->starts[j], size_of(s, j), NULL);
      best[k].shared = shared >= f->least ? (int32_t)shared : 0;
    }
  }
}

/* Signatures and candidates are independent of each other and made in parts; linking sets goes through them in their order, so
 * that the pairs do not depend on threads. */
macko_status macko_eccsr_find_pairs(const macko_eccsr_sets *sets, int64_t least, const int32_t *partner, macko_eccsr_pair **pairs,
                                    int64_t *count, macko_error *err)
{
  const size_t n = (size_t)sets->count;
  search f = {sets, least, partner, malloc(n * sizeof *f.signatures + 1), malloc(n * BANDS * sizeof *f.before + 1),
              malloc(n * MACKO_ECCSR_CANDIDATES * sizeof *f.pairs + 1)};
  const macko_cut cut = {sets->count, MACKO_I64, sets->starts, 1, sets->starts[sets->count]};
  const int parts = macko_parts(sets->starts[sets->count]), made = f.signatures && f.before && f.pairs;
  macko_status s = MACKO_OK;
  *count = 0;
  if (!made) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look for rows that share columns");
  if (!s) macko_do_parts(&cut, parts, sign_sets, &f);
  if (!s) s = link_sets(&f, err);
  if (!s) macko_do_parts(&cut, parts, compare_sets, &f);
  for (int64_t i = 0; !s && i < (int64_t)n * MACKO_ECCSR_CANDIDATES; i++)
    if (f.pairs[i].shared) f.pairs[(*count)++] = f.pairs[i];
  free(f.signatures), free(f.before);
  if (s) free(f.pairs);
  else *pairs = f.pairs;
  return s;
}
