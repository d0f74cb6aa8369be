/* Facts about values in host memory: which types hold them all, and how many there are. */
#include "core/cpu.h"
#include "core/threads.h"
#include "values/codecs.h"

#include <stdlib.h>
#include <string.h>

/* Values are looked at in blocks: after each a part asks whether another one has found what ends the search. */
enum { BLOCK = 4096 };

/* ---- what can hold the values ---- */

/* Gives 1 if one of values p .. past - 1 does not come back with the same bits. Both types are constants in every caller. */
static inline __attribute__((always_inline)) int range_misfits(macko_type from, macko_type to, const void *values, int64_t p,
                                                               int64_t past)
{
  for (; p < past; p++)
    if (!macko_fits(from, to, values, p)) return 1;
  return 0;
}

typedef double two_doubles __attribute__((vector_size(16)));
typedef uint64_t two_words __attribute__((vector_size(16)));

/* Does the same for doubles as i8, which most often all are or the first is not. Adding 1.5 * 2^52 rounds a value to a whole
 * number: between 2^52 and 2^53 doubles lie 1 apart, and the bits of each are those of the one before plus 1. The distance in
 * bits thus is the whole number, and taking 1.5 * 2^52 away again shows whether that was the value. */
static int doubles_misfit_i8(const double *values, int64_t p, int64_t past)
{
  const two_doubles far = {0x1.8p52, 0x1.8p52};
  two_words any = {0};
  for (; p + 2 <= past; p += 2) {
    two_doubles v;
    macko_fetch_ahead(values + p);
    memcpy(&v, values + p, sizeof v);
    const two_doubles moved = v + far;
    any |= ((two_words)moved - (two_words)far + 128) >> 8; /* nonzero bits: it is outside -128 .. 127 */
    any |= (two_words)(moved - far) ^ (two_words)v;        /* -0.0 comes back as 0 */
  }
  return (any[0] | any[1]) != 0 || range_misfits(MACKO_F64, MACKO_I8, values, p, past);
}

/* Does the same for doubles as floats: values that come back with their bits differ from them in none. */
static int doubles_misfit_f32(const double *values, int64_t p, int64_t past)
{
  typedef float two_singles __attribute__((vector_size(8)));
  two_words any = {0};
  for (; p + 2 <= past; p += 2) {
    two_doubles v;
    macko_fetch_ahead(values + p);
    memcpy(&v, values + p, sizeof v);
    const two_singles singles = __builtin_convertvector(v, two_singles);
    any |= (two_words)__builtin_convertvector(singles, two_doubles) ^ (two_words)v;
  }
  return (any[0] | any[1]) != 0 || range_misfits(MACKO_F64, MACKO_F32, values, p, past);
}

/* Makes a constant of the type that values are tried as. */
static inline __attribute__((always_inline)) int range_misfits_from(macko_type from, macko_type to, const void *values, int64_t p,
                                                                    int64_t past)
{
  switch (to) {
  case MACKO_F32: return range_misfits(from, MACKO_F32, values, p, past);
  case MACKO_F16: return range_misfits(from, MACKO_F16, values, p, past);
  case MACKO_BF16: return range_misfits(from, MACKO_BF16, values, p, past);
  default: return range_misfits(from, MACKO_I8, values, p, past);
  }
}

/* Makes a constant of the type of the values, too. */
static int block_misfits(const macko_csr *a, macko_type to, int64_t p, int64_t past)
{
  if (a->value_type == MACKO_F64 && to == MACKO_I8) return doubles_misfit_i8(a->values, p, past);
  if (a->value_type == MACKO_F64 && to == MACKO_F32) return doubles_misfit_f32(a->values, p, past);
  switch (a->value_type) {
  case MACKO_F64: return range_misfits_from(MACKO_F64, to, a->values, p, past);
  case MACKO_F32: return range_misfits_from(MACKO_F32, to, a->values, p, past);
  case MACKO_F16: return range_misfits_from(MACKO_F16, to, a->values, p, past);
  default: return range_misfits_from(MACKO_BF16, to, a->values, p, past);
  }
}

/* A search for a value that misfits, in parts. Any will do, so that the answer does not depend on which part finds it first. */
typedef struct {
  const macko_csr *a;
  macko_type to;
  int found;
  const macko_fewer_values *fewer; /* whose ranges are looked at, where it is those */
} misfit_search;

/* Looks at values p .. past - 1 of the array. */
static void search_values(misfit_search *s, int64_t p, int64_t past)
{
  for (; p < past && !macko_is_set(&s->found); p += BLOCK)
    if (block_misfits(s->a, s->to, p, past - p < BLOCK ? past : p + BLOCK)) macko_set(&s->found);
}

/* Looks at entries from .. past - 1 of a piece, whose first value need not be the first of its array. */
static void search_part(void *context, int part, int64_t from, int64_t past)
{
  misfit_search *s = context;
  const int64_t first = macko_csr_row(s->a, 0);
  (void)part;
  search_values(s, first + from, first + past);
}

/* Prefetches the values of a range further on, as ranges are often too short for the hardware to follow. */
static void fetch_range(const macko_csr *a, const macko_fewer_values *fewer, int64_t i)
{
  enum { LINE = 64, MOST = 4096, AHEAD = 4 };
  if (i + AHEAD >= fewer->count) return;
  const int64_t size = macko_type_bytes(a->value_type), first = fewer->ranges[i + AHEAD].first * size;
  const int64_t bytes = fewer->ranges[i + AHEAD].past * size - first;
  for (int64_t at = 0; at < bytes && at < MOST; at += LINE) __builtin_prefetch((const char *)a->values + first + at);
}

/* Looks at ranges from .. past - 1. */
static void search_ranges(void *context, int part, int64_t from, int64_t past)
{
  misfit_search *s = context;
  (void)part;
  for (; from < past; from++) {
    fetch_range(s->a, s->fewer, from);
    search_values(s, s->fewer->ranges[from].first, s->fewer->ranges[from].past);
  }
}

/* Tells of one piece. */
static int piece_misfits(const macko_csr *a, macko_type to)
{
  const macko_cut entries = {.n = macko_csr_row(a, a->nrows) - macko_csr_row(a, 0)};
  misfit_search s = {a, to, 0, NULL};
  macko_do_parts(&entries, macko_parts(entries.n), search_part, &s);
  return s.found;
}

/* Cuts ranges by where their entries are in the csr. */
static macko_cut cut_ranges(const macko_csr *a, const macko_fewer_values *fewer)
{
  return (macko_cut){fewer->count, MACKO_I64, fewer->ranges, sizeof *fewer->ranges / sizeof(int64_t), macko_csr_nnz(a)};
}

/* Tells of a csr that has those values. */
static int fewer_misfit(const macko_csr *a, const macko_fewer_values *fewer, macko_type to)
{
  const macko_cut ranges = cut_ranges(a, fewer);
  misfit_search s = {a, to, block_misfits(&fewer->values, to, 0, fewer->starts[1]), fewer};
  macko_do_parts(&ranges, macko_parts(fewer->entries), search_ranges, &s);
  return s.found;
}

/* This is the fact `misfit` of rows: it stops at the first piece that has one. */
static macko_status find_misfit(void *rows, macko_type to, int *found, macko_error *err)
{
  macko_rows *r = rows;
  macko_csr piece;
  macko_status s = MACKO_OK;
  *found = 0;
  for (int64_t first = 0, step = macko_rows_step(r); first < r->nrows && !*found && !s; first += step) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    if (!s) *found = piece_misfits(&piece, to);
  }
  return s;
}

/* ---- how many there are that differ in their bits ---- */

/* A count of distinct values, in parts, each of which has a set of its own. */
typedef struct {
  const macko_csr *piece;
  macko_value_set *sets;
  int full; /* 1: one of them is full, so that there are too many */
  const macko_fewer_values *fewer; /* whose ranges are looked at, where it is those */
} distinct_search;

/* Makes a set for each part, with room for `limit` values each. After a failure close_sets frees what there is. */
static macko_status open_sets(int parts, macko_type type, int64_t limit, macko_value_set **sets, macko_error *err)
{
  int made = 0;
  *sets = calloc((size_t)parts, sizeof **sets);
  for (; *sets && made < parts; made++) {
    void *table = malloc((size_t)(limit * macko_type_bytes(type)));
    if (macko_open_value_set(type, table, limit, &(*sets)[made], NULL) || !table) break;
  }
  if (made == parts) return MACKO_OK;
  return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a dictionary of %lld values", (long long)limit);
}

/* Frees the sets and their tables. Those that were never opened are all zero. */
static void close_sets(int parts, macko_value_set *sets)
{
  for (int part = 0; sets && part < parts; part++) free(sets[part].table), macko_close_value_set(&sets[part]);
  free(sets);
}

/* So many of the values that were looked up last are remembered: on grids of constant coefficients rows have two, the diagonal's
 * and one more, and another diagonal where the grid ends. */
enum { REMEMBERED = 4 };

/* Gives 1 if those are the bits of a value that is remembered. */
static inline __attribute__((always_inline)) int is_remembered(const uint64_t *known, uint64_t bits)
{
  int found = 0;
  for (int i = 0; i < REMEMBERED; i++) found |= bits == known[i];
  return found;
}

#if MACKO_HAS_X86_64
#include <immintrin.h>

/* Gives the first of doubles p .. past - 1, or of all but the last few of them, that is not remembered; p or a later one, from
 * which on they are to be looked at one by one, if there is none. */
static MACKO_AVX2 int64_t end_of_remembered(const double *values, int64_t p, int64_t past, const uint64_t *known)
{
  enum { WIDTH = 4 };
  __m256i each[REMEMBERED];
  for (int i = 0; i < REMEMBERED; i++) each[i] = _mm256_set1_epi64x((int64_t)known[i]);
  for (; p + WIDTH <= past; p += WIDTH) {
    macko_fetch_ahead(values + p);
    const __m256i v = _mm256_loadu_si256((const __m256i *)(values + p));
    __m256i found = _mm256_cmpeq_epi64(v, each[0]);
    for (int i = 1; i < REMEMBERED; i++) found = _mm256_or_si256(found, _mm256_cmpeq_epi64(v, each[i]));
    const int lanes = _mm256_movemask_pd(_mm256_castsi256_pd(found));
    if (lanes != (1 << WIDTH) - 1) return p + __builtin_ctz(~(unsigned)lanes);
  }
  return p;
}
#endif

/* Gives the first of values p .. past - 1 that is not remembered, past if there is none. */
static inline __attribute__((always_inline)) int64_t pass_remembered(macko_type type, const void *values, int64_t p, int64_t past,
                                                                     const uint64_t *known)
{
  if (p == past || !is_remembered(known, macko_bits_at(type, values, p))) return p; /* most often, where values differ */
#if MACKO_HAS_X86_64
  if (type == MACKO_F64 && macko_has_avx2()) p = end_of_remembered(values, p, past, known);
#endif
  while (p < past && is_remembered(known, macko_bits_at(type, values, p))) p++;
  return p;
}

/* Adds values p .. past - 1 to the set; gives 1 if there is room for all. Those that are remembered are passed over without looking
 * them up. The type is a constant in the fast call. */
static inline __attribute__((always_inline)) int add_values_of(macko_type type, macko_value_set *set, const void *values, int64_t p,
                                                               int64_t past)
{
  uint64_t known[REMEMBERED];
  for (int i = 0; i < REMEMBERED && p < past; i++) known[i] = macko_bits_at(type, values, p);
  for (unsigned next = 0; p < past; next++) {
    known[next % REMEMBERED] = macko_bits_at(type, values, p);
    if (macko_value_code(set, known[next % REMEMBERED]) < 0) return 0;
    p = pass_remembered(type, values, p + 1, past, known);
  }
  return 1;
}

static int add_values(macko_value_set *set, const macko_csr *a, int64_t p, int64_t past)
{
  if (a->value_type == MACKO_F64) return add_values_of(MACKO_F64, set, a->values, p, past);
  return add_values_of(a->value_type, set, a->values, p, past);
}

/* Adds values p .. past - 1 of the array to the set of the part. */
static void add_to_part(distinct_search *s, int part, int64_t p, int64_t past)
{
  for (; p < past && !macko_is_set(&s->full); p += BLOCK)
    if (!add_values(&s->sets[part], s->piece, p, past - p < BLOCK ? past : p + BLOCK)) macko_set(&s->full);
}

/* Adds entries from .. past - 1 of a piece to the set of the part. */
static void add_part(void *context, int part, int64_t from, int64_t past)
{
  distinct_search *s = context;
  const int64_t first = macko_csr_row(s->piece, 0);
  add_to_part(s, part, first + from, first + past);
}

/* Adds ranges from .. past - 1 to it. */
static void add_ranges(void *context, int part, int64_t from, int64_t past)
{
  distinct_search *s = context;
  for (; from < past; from++) {
    fetch_range(s->piece, s->fewer, from);
    add_to_part(s, part, s->fewer->ranges[from].first, s->fewer->ranges[from].past);
  }
}

/* Gives the types that values of the set may be stored as, bit t for type t: those that have no more bytes. */
static unsigned types_for(const macko_value_set *set)
{
  unsigned types = 0;
  for (int to = MACKO_F32; to <= MACKO_I8; to++)
    if (to != (int)set->type && macko_type_bytes((macko_type)to) <= macko_type_bytes(set->type)) types |= 1u << to;
  return types;
}

/* Sets what is known of misfits by values of which each is in the set. */
static void learn_misfits(const macko_value_set *set, macko_known_values *known)
{
  const macko_csr all = {.value_type = set->type, .values = set->table};
  known->asked = types_for(set), known->misfits = 0;
  for (int to = MACKO_F32; to <= MACKO_I8; to++)
    if (known->asked >> to & 1 && block_misfits(&all, (macko_type)to, 0, set->used)) known->misfits |= 1u << to;
}

/* Ends a count: adds the sets of the other parts to the first, gives the number of values, -1 where they are too many, and frees
 * the sets. Where all were counted these few tell what misfits, too: *known is told, unless it is NULL. */
static int64_t end_count(distinct_search *s, int parts, int counted, macko_known_values *known)
{
  for (int part = 1; counted && part < parts && !s->full; part++) {
    const macko_csr found = {.value_type = s->sets[part].type, .values = s->sets[part].table};
    s->full = !add_values(&s->sets[0], &found, 0, s->sets[part].used);
  }
  const int64_t distinct = !counted || s->full ? -1 : s->sets[0].used;
  if (distinct >= 0 && known) learn_misfits(&s->sets[0], known);
  close_sets(parts, s->sets);
  return distinct;
}

/* Counts the values that differ in their bits, or gives -1 beyond the limit. Each part fills a set of its own; pieces that come one
 * after another are done in one part. */
static macko_status count_and_learn(macko_rows *r, int64_t limit, int64_t *distinct, macko_known_values *known, macko_error *err)
{
  macko_csr piece;
  distinct_search search = {.piece = &piece};
  int parts = r->whole ? macko_large_parts(macko_csr_nnz(r->whole)) : 1;
  macko_status s = open_sets(parts, r->value_type, limit, &search.sets, err);
  for (int64_t first = 0, step = macko_rows_step(r); first < r->nrows && !search.full && !s; first += step) {
    s = macko_get_rows(r, first, step < r->nrows - first ? step : r->nrows - first, &piece, err);
    const macko_cut entries = {.n = s ? 0 : macko_csr_row(&piece, piece.nrows) - macko_csr_row(&piece, 0)};
    if (!s) macko_do_parts(&entries, parts, add_part, &search);
  }
  *distinct = end_count(&search, parts, !s, known);
  return s;
}

/* Does the same with fewer values of *a. */
static macko_status count_fewer(const macko_csr *a, const macko_fewer_values *fewer, int64_t limit, int64_t *distinct,
                                macko_known_values *known, macko_error *err)
{
  const macko_cut ranges = cut_ranges(a, fewer);
  distinct_search search = {.piece = a, .fewer = fewer};
  int parts = macko_large_parts(fewer->entries);
  macko_status s = open_sets(parts, a->value_type, limit, &search.sets, err);
  if (!s) search.full = !add_values(&search.sets[0], &fewer->values, 0, fewer->starts[1]);
  if (!s) macko_do_parts(&ranges, parts, add_ranges, &search);
  *distinct = end_count(&search, parts, !s, known);
  return s;
}

/* This is the fact `distinct` of rows. */
static macko_status count_distinct(void *rows, int64_t limit, int64_t *distinct, macko_error *err)
{
  return count_and_learn(rows, limit, distinct, NULL, err);
}

/* Nothing is remembered: every question is a pass. */
macko_value_facts macko_facts_of_rows(macko_rows *r)
{
  return (macko_value_facts){r->value_type, find_misfit, count_distinct, r};
}

/* ---- of findings: every format that is planned asks, and the first is told for all ---- */

/* Tells whether a value misfits that type, -1 where it is not known. Where all fit i8 all fit every type, because that has whole
 * numbers from -128 to 127 only. */
static int known_misfit(const macko_known_values *known, macko_type to)
{
  if (known->asked >> to & 1) return known->misfits >> to & 1;
  return (known->asked & ~known->misfits) >> MACKO_I8 & 1 ? 0 : -1;
}

/* This is the fact `misfit` of findings: it looks at values only where the answer is not known. */
static macko_status found_misfit(void *context, macko_type to, int *misfit, macko_error *err)
{
  macko_findings *found = context;
  macko_known_values *known = &found->values;
  macko_rows whole;
  macko_status s = MACKO_OK;
  *misfit = known_misfit(known, to);
  if (*misfit >= 0) return MACKO_OK;
  if (known->fewer) *misfit = fewer_misfit(found->csr, known->fewer, to);
  else s = find_misfit(macko_found_rows(found, &whole), to, misfit, err);
  if (!s) known->asked |= 1u << to, known->misfits |= (unsigned)*misfit << to;
  return s;
}

/* This is the fact `distinct` of findings. A count that was made for a larger limit, or that was not stopped by its limit,
 * answers for others, too, and one that was not stopped tells what misfits. */
static macko_status found_distinct(void *context, int64_t limit, int64_t *distinct, macko_error *err)
{
  macko_findings *found = context;
  macko_known_values *known = &found->values;
  macko_rows whole;
  if (known->limit < limit && !(known->limit && known->distinct >= 0)) {
    macko_status s = known->fewer ? count_fewer(found->csr, known->fewer, limit, &known->distinct, known, err)
                                  : count_and_learn(macko_found_rows(found, &whole), limit, &known->distinct, known, err);
    if (s) return s;
    known->limit = limit;
  }
  *distinct = known->distinct > limit ? -1 : known->distinct;
  return MACKO_OK;
}

macko_value_facts macko_facts_of_values(macko_findings *found)
{
  return (macko_value_facts){found->csr->value_type, found_misfit, found_distinct, found};
}
