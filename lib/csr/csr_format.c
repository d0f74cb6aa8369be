/* Plain CSR: what no format improves, and the reference in every comparison. Values are stored as they are, or rounded where that
 * is asked for. This is its table of functions, with those that plan, decode and validate. */
#include "core/cost.h"
#include "csr/csr.h"
#include "csr/csr_foresight.h"
#include "csr/csr_shared.h"
#include "values/codecs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The forms of format csr, the same on a GPU. */
static const macko_form forms[] = {
  {.values = MACKO_HAS(VALUES_RAW) | MACKO_HAS(VALUES_F32) | MACKO_HAS(VALUES_F16) | MACKO_HAS(VALUES_BF16),
   .target = MACKO_HAS_ALL}};

/* Gives the entries that the loops take in one step. */
static int64_t entries_of_step(const macko_csr *a, int64_t nnz)
{
  return nnz < LONG_ROWS * a->nrows ? 1 : CSR_WIDTH;
}

/* Adds the length of a row that is looked at. */
static void add_length(macko_csr_lengths *lengths, int64_t length)
{
  const uint64_t n = length < MACKO_CSR_LONGEST ? (uint64_t)length : MACKO_CSR_LONGEST;
  lengths->rows++, lengths->entries += n, lengths->squares += n * n;
}

/* Looks at rows in blocks, as products take them. */
static macko_csr_rows_seen host_rows(void *context)
{
  enum { STRETCH = MACKO_CSR_STRETCH, EVERY = MACKO_CSR_EVERY };
  const macko_findings *found = context;
  const int64_t nrows = found->csr->nrows, nnz = macko_found_nnz(found);
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_assembly room = {0};
  macko_csr a;
  csr_row_counts c = {0};
  int64_t alike = 0;
  uint8_t same[STRETCH];
  macko_csr_rows_seen seen = {0};
  for (int64_t first = 0; first < nrows; first += EVERY) {
    const int64_t past = first + STRETCH < nrows ? first + STRETCH : nrows;
    if (macko_view_rows(rows, first, past - first, &room, &a, NULL)) break; /* the next pass over the rows tells why */
    for (int64_t i = first; i < past; i += CSR_BLOCK) csr_count_rows(&a, i, i + CSR_BLOCK < past ? i + CSR_BLOCK : past, 0, &c);
    for (int64_t i = first; i < past; i++) add_length(&seen.lengths, macko_csr_row(&a, i + 1) - macko_csr_row(&a, i));
    for (int64_t i = first; i < past; i++) alike += same[i - first] = (uint8_t)(i + 1 < past && macko_csr_alike(&a, i));
    csr_count_groups(&a, first, past, same, &c);
  }
  macko_free_assembly(&room);
  const double looked_at = (double)seen.lengths.rows;
  const int64_t missed_wide = macko_csr_in_blocks(nrows, c.blocks, c.one_number) ? c.missed_in_blocks : c.missed_wide;
  seen.uneven = macko_csr_uneven(nrows, nnz, c.rows, c.missed);
  const int64_t missed = seen.uneven || entries_of_step(found->csr, nnz) > 1 ? missed_wide : c.missed;
  if (!(looked_at > 0)) return seen;
  seen.missed = (double)missed / looked_at * (double)nrows, seen.alike = (double)alike / looked_at;
  seen.missed_groups = (double)c.missed_groups / looked_at * (double)nrows;
  return seen;
}

static const macko_csr_facts host_facts = {host_rows};

/* Gives how many rows a processor does not foresee. What it remembers from one product to the next is taken either by the rows
 * that are not foreseen at first, of which it learns so many, or by all rows. */
static double missed_rows(const macko_cost *cost, const macko_csr *a, macko_csr_rows_seen seen)
{
  if (cost->csr_learnt > 0) return fmax(0, seen.missed - cost->csr_learnt);
  return a->nrows > MACKO_LEARNT_ROWS ? seen.missed * (1 - (double)MACKO_LEARNT_ROWS / (double)a->nrows) : 0;
}

/* Looks at rows where what is seen of them counts. */
static macko_csr_rows_seen look_at_rows(const macko_facts *f, const macko_options *options, int shared)
{
  const macko_csr_facts *ask = f->of_format[MACKO_FORMAT_CSR];
  const double learnt = macko_cost_of(options)->csr_learnt;
  const int counts = shared || options->target == MACKO_TARGET_GPU ||
                     (double)f->csr->nrows > (learnt > 0 ? learnt : MACKO_LEARNT_ROWS);
  if (!ask || !counts) return (macko_csr_rows_seen){0};
  macko_csr_rows_seen seen = ask->rows(f->context);
  if (!shared || seen.alike < CSR_SHARE) seen.alike = 0;
  else seen.missed = seen.missed_groups;
  return seen;
}

/* Gives by how many entries all rows together differ from the mean length, a standard deviation each, as the lanes of a row share
 * them on a GPU: a warp there waits for the longest of its rows. A row has as many lanes, a power of two up to a warp, as take
 * MACKO_CSR_A_LANE entries each. A few rows that are far longer are shared by whole warps, so that more than the mean never
 * counts. */
static double uneven_entries(const macko_csr *a, const macko_csr_lengths *l)
{
  if (!l->rows) return 0;
  const double mean = (double)l->entries / (double)l->rows, square = (double)l->squares / (double)l->rows - mean * mean;
  const double differ = square > mean * mean ? mean : square > 0 ? sqrt(square) : 0;
  int lanes = 1;
  while (lanes < 32 && 2 * lanes * MACKO_CSR_A_LANE <= mean) lanes *= 2;
  return (double)a->nrows * differ / lanes;
}

/* Gives how many more entries a GPU's blocks of threads have room for than rows of mean length fill, where few fit into one; rows
 * that are cut leave nothing. Blocks start where loads may, half of MACKO_CSR_ALIGN before their rows in the mean. */
static double unfilled_entries(const macko_csr *a, int64_t nnz)
{
  enum { FEW_ROWS = 4 };
  const double room = (double)macko_csr_block_entries(nnz) - MACKO_CSR_ALIGN / 2;
  const double rows = floor(room * (double)a->nrows / (double)nnz);
  return rows < 1 || rows >= FEW_ROWS ? 0 : room * (double)a->nrows / rows - (double)nnz;
}

/* Gives the nanoseconds that a GPU takes longer for rows that do not fill its blocks of threads, or not one by one. */
static double blocks_time(const macko_options *options, const macko_csr *a, int64_t nnz)
{
  const macko_cost *cost = macko_cost_of(options);
  if (options->target != MACKO_TARGET_GPU || nnz == 0) return 0;
  const int cut = nnz < MACKO_CSR_LARGE && nnz / a->nrows > macko_csr_block_entries(nnz);
  return unfilled_entries(a, nnz) * cost->csr_unfilled + cut * cost->csr_pieces;
}

/* Gives what a product takes besides reading bytes, with values stored as that. Vectors have the type of values as a rule: for
 * those of f64 and f32 there are loops with AVX2, which short rows of f32 gain less from, and a GPU nothing. Shared rows spare
 * loads of columns and of x; their own costs are not the same share on every processor. */
static double work_of(const macko_options *options, const macko_csr *a, int64_t nnz, const macko_csr_rows_seen *seen,
                      macko_type stored)
{
  const macko_cost *cost = macko_cost_of(options);
  const int64_t size = macko_type_bytes(stored);
  const int f64 = a->value_type == MACKO_F64, steps = seen->uneven || entries_of_step(a, nnz) > 1;
  const int wide = options->target == MACKO_TARGET_CPU && steps && size >= 4;
  const double of_width = f64 && size >= 4 ? cost->csr_entry : size == 4 ? cost->csr_single : cost->csr_half;
  const double narrower = size < macko_type_bytes(a->value_type) ? cost->csr_narrower : 0;
  const double entry = (wide ? cost->csr_long_entry : of_width) + narrower, row = wide ? cost->csr_long_row : cost->csr_row;
  const double miss = seen->alike > 0 ? cost->csr_group_miss : steps ? cost->csr_long_miss : cost->csr_miss;
  const double shared = macko_csr_saved(seen->alike), rows = (double)a->nrows * row * (1 - cost->csr_shared_row * shared);
  const double filling = f64 ? cost->csr_filling : cost->csr_filling_single;
  return (double)nnz * entry * (1 - cost->csr_shared * shared) + rows + missed_rows(cost, a, *seen) * miss +
         uneven_entries(a, &seen->lengths) * cost->csr_uneven + blocks_time(options, a, nnz) +
         (double)(nnz < MACKO_FILLING_ENTRIES ? nnz : MACKO_FILLING_ENTRIES) * filling - cost->csr_sooner;
}

/* Sets the time: shared rows save the bytes of their columns. */
static void set_time(const macko_options *options, const macko_facts *f, double shared, macko_plan *plan)
{
  macko_plan read = *plan;
  const macko_cost *cost = macko_cost_of(options);
  const double all = (1 + f->others) * (double)plan->bytes;
  const double lost = shared > 0 ? macko_lost_share(all, macko_machine_caches().last, cost->last_gone) : 0;
  const double saved = shared * (1 - lost * (1 - cost->csr_saved));
  read.bytes -= (int64_t)(saved * (double)(f->nnz * macko_type_bytes(MACKO_I32)));
  macko_set_time(options, f, &read);
  plan->time = read.time;
}

/* Plans format csr. The codec is what was asked for or raw: nothing is chosen here, because this format is what others are
 * compared with. */
static macko_status plan(const macko_facts *f, const macko_options *options, macko_plan *plan, macko_error *err)
{
  const macko_csr *a = f->csr;
  int64_t nnz = f->nnz, indices = (a->nrows + 1) * macko_type_bytes(macko_index_type(nnz));
  macko_values wanted = options->values == MACKO_VALUES_AUTO ? MACKO_VALUES_RAW : options->values;
  macko_codec codecs[MACKO_MOST_CODECS];
  int count;
  macko_status s = macko_codecs_by(&f->values, wanted, &macko_all_codecs, codecs, &count, err);
  if (s) return s;
  plan->values = codecs[0].values, plan->stored_type = codecs[0].stored_type, plan->lossy = codecs[0].lossy;
  int64_t size = macko_type_bytes(plan->stored_type);
  plan->bytes = indices + nnz * (macko_type_bytes(macko_index_type(a->ncols)) + size);
  const macko_csr_rows_seen seen = look_at_rows(f, options, macko_csr_reads_shared(options, plan, a->nrows, a->ncols, nnz));
  plan->work = work_of(options, a, nnz, &seen, plan->stored_type);
  set_time(options, f, macko_csr_saved(seen.alike), plan);
  plan->csr_time = plan->values == MACKO_VALUES_RAW ? plan->time : 0;
  snprintf(plan->reason, sizeof plan->reason, "plain CSR, %s columns, %s row pointers, values as %s",
           macko_type_name(macko_index_type(a->ncols)), macko_type_name(macko_index_type(nnz)),
           macko_type_name(plan->stored_type));
  if (seen.alike > 0) strcat(plan->reason, "; columns are read once for rows that share them");
  return MACKO_OK;
}

/* Plans new values: columns and the type of the values stay, and only whether rounding changes a value is asked again. */
static macko_status plan_values(const macko_facts *f, const macko_matrix *m, macko_plan *plan, macko_error *err)
{
  *plan = m->plan;
  if (plan->stored_type == m->value_type) return MACKO_OK;
  return f->values.misfit(f->values.context, plan->stored_type, &plan->lossy, err);
}

/* Lists the sections, of which the first two tell of the pattern. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  list[ROW_PTR] = macko_pattern_section("row_ptr", macko_index_type(m->nnz), m->nrows + 1);
  list[COLS] = macko_pattern_section("cols", macko_index_type(m->ncols), m->nnz);
  list[VALUES] = macko_value_section("values", m->plan.stored_type, m->nnz);
  return SECTIONS;
}

/* Writes the sections back, in 64-bit indices, and values in the matrix's own type. */
static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  (void)err;
  for (int64_t i = 0; row_ptr && i <= m->nrows; i++) row_ptr[i] = macko_index_at(&m->sections[ROW_PTR], i);
  for (int64_t p = 0; cols && p < m->nnz; p++) cols[p] = macko_index_at(&m->sections[COLS], p);
  macko_value_stream stream = {m->sections[VALUES].data, NULL};
  if (values && m->plan.stored_type != m->value_type)
    macko_read_values(&m->plan, m->value_type, &stream, 0, 1, m->nnz, values, 0);
  else if (values && m->nnz) memcpy(values, stream.stream, (size_t)m->sections[VALUES].bytes);
  return MACKO_OK;
}

/* Entries are in the order of the rows, so that any of them can be copied alone. */
static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  const macko_value_stream stream = {m->sections[VALUES].data, NULL};
  const int64_t begin = starts[first], count = starts[past] - begin, size = macko_type_bytes(m->value_type);
  for (int64_t p = 0; cols && p < count; p++) cols[p] = macko_index_at(&m->sections[COLS], begin + p);
  if (values && m->plan.stored_type != m->value_type)
    macko_read_values(&m->plan, m->value_type, &stream, begin, 1, count, values, 0);
  else if (values && count) memcpy(values, (const char *)stream.stream + begin * size, (size_t)(count * size));
}

/* Checks the types, then that row starts run from 0 to nnz without falling, then that columns rise strictly and are inside, which
 * also proves that no row has duplicates. */
static macko_status validate(const macko_matrix *m, macko_error *err)
{
  macko_type stored = m->plan.stored_type;
  if (stored != m->value_type && ((unsigned)stored > MACKO_BF16 || macko_type_bytes(stored) > macko_type_bytes(m->value_type)))
    return macko_fail(err, MACKO_CORRUPT, "values of type %s are stored as type %d, no float that is as narrow",
                      macko_type_name(m->value_type), (int)stored);
  macko_status s = macko_check_sections(m, err);
  if (s) return s;
  if (macko_index_at(&m->sections[ROW_PTR], 0) != 0 || macko_index_at(&m->sections[ROW_PTR], m->nrows) != m->nnz)
    return macko_fail(err, MACKO_CORRUPT, "row_ptr does not run from 0 to %lld", (long long)m->nnz);
  for (int64_t i = 0; i < m->nrows; i++) {
    int64_t begin = macko_index_at(&m->sections[ROW_PTR], i), end = macko_index_at(&m->sections[ROW_PTR], i + 1);
    if (end < begin || end > m->nnz)
      return macko_fail(err, MACKO_CORRUPT, "row_ptr goes from %lld to %lld at row %lld", (long long)begin, (long long)end,
                        (long long)i);
    for (int64_t p = begin, before = -1; p < end; p++) {
      int64_t col = macko_index_at(&m->sections[COLS], p);
      if (col <= before || col >= m->ncols)
        return macko_fail(err, MACKO_CORRUPT,
                          "column %lld at entry %lld of row %lld is outside 0..%lld or not after the one before",
                          (long long)col, (long long)p, (long long)i, (long long)m->ncols - 1);
      before = col;
    }
  }
  return MACKO_OK;
}

static const char *const section_names[] = {"row_ptr", "cols", "values", NULL};

const macko_format_ops macko_csr_ops = {
  .plan = plan,
  .facts = &host_facts,
  .forget = NULL,
  .plan_values = plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = macko_csr_encode,
  .refresh = macko_csr_refresh,
  .prepare = macko_csr_prepare,
  .decode = decode,
  .validate = validate,
  .multiply = macko_csr_multiply,
  .encode_rows = macko_csr_encode_rows,
  .may_win = NULL,     /* planned at once */
  .forms = forms,
  .nforms = sizeof forms / sizeof *forms,
  .in_pieces = 1,
  .decode_rows = decode_rows,
  .borrows = 1};
