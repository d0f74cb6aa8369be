/* Format eccsr on the GPU: encoded from a csr in device memory, and its table of functions. Kernels find blocks and slices window
 * by window; here windows are put one behind the other. */
#include "core/encoder.h"
#include "eccsr/eccsr_survey.h"

#include <stdlib.h>
#include <string.h>

enum { WINDOW = MACKO_ECCSR_WINDOW }; /* rows of a window */

/* This is what an encoder has found out of the csr, each once it was asked for (e->own of the format). */
typedef struct {
  uint8_t *same;                   /* a byte a row: it has the columns of the row before; device memory */
  int compared_all, is_sampled;    /* `same` is known of all rows, not of the sample only; `sampled` is known */
  macko_eccsr_sampled sampled;
  macko_eccsr_windows all;         /* all windows by the shape that was last counted */
  macko_eccsr_found_window *found; /* of all windows, on the host */
} survey;

/* Gives the number of windows of the csr, the last of which may have fewer rows. */
static int64_t windows_of(const macko_encoder *e)
{
  return (e->a.nrows + WINDOW - 1) / WINDOW;
}

/* ---- the shape ---- */

/* Sets *v to what the encoder knows, made on the first call, with room for a byte a row. */
static macko_status open_survey(macko_encoder *e, survey **v, macko_error *err)
{
  void **own = &e->own[MACKO_FORMAT_ECCSR], *same = NULL;
  if (!*own) *own = calloc(1, sizeof **v);
  *v = *own;
  if (!*own) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to look at rows");
  macko_status s = (*v)->same ? MACKO_OK : macko_encoder_room(e, e->a.nrows, &same, err);
  if (same) (*v)->same = same;
  return s;
}

/* Finds rows that have the columns of the row before: in the windows of the sample, or in all windows. Those of the sample
 * suffice for an estimate, which automatic choice may find reason enough to ask no further. */
static macko_status compare_rows(macko_encoder *e, survey *v, int sampled, macko_error *err)
{
  if (v->compared_all) return MACKO_OK;
  macko_status s = macko_cuda_status(macko_eccsr_compare_rows(&e->a, sampled, v->same, e->stream), "comparing rows", err);
  v->compared_all = !s && !sampled;
  return s;
}

/* Device memory is the encoder's, which frees it. */
static void close_survey(macko_encoder *e)
{
  survey *v = e->own[MACKO_FORMAT_ECCSR];
  if (v) free(v->found);
  free(v);
}

/* Sets v->sampled to the counts of the sample, once. */
static macko_status sample_rows(macko_encoder *e, survey *v, macko_error *err)
{
  macko_status s = MACKO_OK;
  if (v->is_sampled) return s;
  s = compare_rows(e, v, 1, err);
  if (!s) s = macko_encoder_clear(e, err);
  if (!s) s = macko_cuda_status(macko_eccsr_sample_rows(&e->a, v->same, e->answer, e->stream), "looking at rows", err);
  if (!s) s = macko_encoder_read_back(e, &v->sampled, e->answer, sizeof v->sampled, err);
  v->is_sampled = !s;
  return s;
}

/* ---- windows ---- */

/* Sets *w up for `windows` windows from number `first` on, with room for what is found in them. */
static macko_status take_windows(macko_encoder *e, const uint8_t *same, int64_t first, int64_t windows, macko_eccsr_windows *w,
                                 macko_error *err)
{
  void *keys = NULL, *slices = NULL, *found = NULL, *heights = NULL;
  macko_status s = macko_encoder_room(e, windows * WINDOW, &heights, err);
  if (!s) s = macko_encoder_room(e, windows * WINDOW * (int64_t)sizeof *w->keys, &keys, err);
  if (!s) s = macko_encoder_room(e, windows * MACKO_ECCSR_WINDOW_SLICES * (int64_t)sizeof *w->slices, &slices, err);
  if (!s) s = macko_encoder_room(e, windows * (int64_t)sizeof *w->found, &found, err);
  *w = (macko_eccsr_windows){{0}, first, windows, same, heights, keys, slices, found};
  return s;
}

/* Gives that room back, for windows that were only tried. */
static void give_back_windows(macko_encoder *e, const macko_eccsr_windows *w)
{
  macko_encoder_give_back(e, w->heights), macko_encoder_give_back(e, w->keys);
  macko_encoder_give_back(e, w->slices), macko_encoder_give_back(e, w->found);
}

/* Puts the rows of the windows *w into blocks and slices by a shape. found, on the host, gets what each window comes to. */
static macko_status find(macko_encoder *e, const macko_eccsr_shape *shape, macko_eccsr_windows *w, macko_eccsr_found_window *found,
                         macko_error *err)
{
  w->shape = *shape;
  macko_status s = macko_cuda_status(macko_eccsr_find_slices(&e->a, w, e->stream), "looking for blocks of rows", err);
  return s ? s : macko_encoder_read_back(e, found, w->found, (size_t)w->windows * sizeof *found, err);
}

/* Adds what a window of so many entries comes to to the counts and the work of a product. Blocks of the kernels are rows that
 * follow each other, so that section "rows" has an element a block. */
static void add_window(const macko_eccsr_found_window *f, int64_t entries, macko_eccsr_counts *c, macko_eccsr_work *work)
{
  c->slices += (int64_t)f->slices, c->blocks += (int64_t)f->blocks, c->rows += (int64_t)f->blocks;
  c->words += (int64_t)f->words, c->masked += (int64_t)f->masked, c->widths |= (int64_t)f->widths;
  if ((int64_t)f->longest > c->longest) c->longest = (int64_t)f->longest;
  work->entries += entries, work->masked += (int64_t)f->masked_entries, work->runs += (int64_t)f->runs;
  work->lanes += (int64_t)f->lanes, work->reads += (int64_t)f->reads;
}

/* Sets *entries to those of the rows of a window: the difference of two row starts, whatever these count from. */
static macko_status count_entries(macko_encoder *e, int64_t window, int64_t *entries, macko_error *err)
{
  const int64_t past = window + 1 < windows_of(e) ? (window + 1) * WINDOW : e->a.nrows;
  const int64_t size = macko_type_bytes(e->csr.row_ptr_type);
  int64_t ends[2] = {0, 0};
  const char *starts = e->csr.row_ptr;
  macko_status s = macko_encoder_read_back(e, &ends[0], starts + window * WINDOW * size, (size_t)size, err);
  if (!s) s = macko_encoder_read_back(e, &ends[1], starts + past * size, (size_t)size, err);
  *entries = macko_index(e->csr.row_ptr_type, &ends[1], 0) - macko_index(e->csr.row_ptr_type, &ends[0], 0);
  return s;
}

/* Tries blocks of b rows from a multiple of b on, with masks, for every b that divides the rows, as the host tries it: by what
 * a window in the middle comes to. Changes *shape where one takes fewer bytes than rows of equal columns do, and no more than
 * twice as many slots as entries. Where those have blocks of two rows and more as it is, nothing is tried. */
static macko_status try_aligned(macko_encoder *e, macko_eccsr_shape *shape, macko_error *err)
{
  const survey *v = e->own[MACKO_FORMAT_ECCSR];
  const int64_t window = windows_of(e) / 2;
  macko_eccsr_windows w;
  int64_t entries = 0, best = 0;
  macko_status s = take_windows(e, v->same, window, 1, &w, err);
  if (!s) s = count_entries(e, window, &entries, err);
  for (int b = 1; b <= MACKO_ECCSR_MAX_RUN && !s; b++) {
    const macko_eccsr_shape tried = {shape->rows, shape->run, b > 1 ? b : 0};
    macko_eccsr_found_window found;
    macko_eccsr_counts c = {0};
    macko_eccsr_work work = {0};
    if (e->a.nrows % b) continue;
    s = find(e, &tried, &w, &found, err);
    if (s) break;
    add_window(&found, entries, &c, &work);
    const int64_t bytes = macko_eccsr_pattern_bytes(&c);
    if (b == 1 && work.entries >= 2 * work.reads) break; /* blocks of two rows and more as it is */
    if (b == 1) best = bytes;
    else if (work.lanes <= 2 * work.entries && bytes < best) best = bytes, *shape = tried;
  }
  give_back_windows(e, &w);
  return s;
}

/* ---- facts ---- */

/* This cannot fail: where looking fails it says that nothing was found, and planning goes on without. */
static void estimate(void *context, macko_eccsr_counts *counts, macko_eccsr_work *work)
{
  static const macko_eccsr_sampled nothing;
  macko_encoder *e = context;
  survey *v;
  macko_status s = open_survey(e, &v, NULL);
  if (!s) s = sample_rows(e, v, NULL);
  macko_eccsr_scale(s ? &nothing : &v->sampled, e->a.nnz, counts, work);
}

/* Gives the shape of blocks by the sample. All rows are compared here, as counting follows, which needs that. */
static macko_status sample(void *context, macko_eccsr_shape *shape, macko_error *err)
{
  macko_encoder *e = context;
  survey *v;
  macko_status s = open_survey(e, &v, err);
  if (!s) s = sample_rows(e, v, err);
  if (!s) s = compare_rows(e, v, 0, err);
  if (!s) *shape = macko_eccsr_usual_shape(&v->sampled);
  return s || !e->a.nrows ? s : try_aligned(e, shape, err);
}

/* Gives what all windows come to by a shape. The windows stay in device memory, as encoding by the shape that was counted last
 * writes them out. */
static macko_status count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                          macko_error *err)
{
  macko_encoder *e = context;
  const int64_t windows = windows_of(e);
  survey *v;
  macko_status s = open_survey(e, &v, err);
  if (!s && !v->found) {
    s = take_windows(e, v->same, 0, windows, &v->all, err);
    v->found = s ? NULL : malloc((size_t)windows * sizeof *v->found + 1);
    if (!s && !v->found) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld windows of rows", (long long)windows);
  }
  if (!s) s = find(e, shape, &v->all, v->found, err);
  *counts = (macko_eccsr_counts){0}, *work = (macko_eccsr_work){0};
  for (int64_t i = 0; !s && i < windows; i++) add_window(&v->found[i], 0, counts, work);
  work->entries = e->a.nnz;
  return s;
}

/* Says whether rows of equal columns lie apart. The kernels know windows only: what is planned for a CPU and may have such
 * blocks the host encodes, to its own bytes. */
static macko_status apart(void *context, int *found, macko_error *err)
{
  (void)context;
  *found = 0;
  return macko_fail(err, MACKO_UNSUPPORTED, "format eccsr looks for rows of equal columns that lie apart on the host only");
}

/* These are the answers to what plan of format eccsr asks, with an encoder as context. */
static const macko_eccsr_facts facts = {estimate, sample, count, apart};

/* ---- encode ---- */

/* Writes the sections of the pattern by the windows as planning has counted them: where each window's slices, blocks and words
 * begin is the sum of those before. */
static macko_status write_pattern(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  const survey *v = e->own[MACKO_FORMAT_ECCSR];
  const int64_t windows = windows_of(e);
  macko_eccsr_place at = {0}, *places = malloc((size_t)windows * sizeof *places + 1);
  void *room = NULL;
  if (!places) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for the places of %lld windows", (long long)windows);
  for (int64_t i = 0; i < windows; i++) {
    const macko_eccsr_found_window *f = &v->found[i];
    places[i] = at;
    at.slices += (int64_t)f->slices, at.blocks += (int64_t)f->blocks, at.words += (int64_t)f->words;
  }
  macko_status s = macko_encoder_room(e, windows * (int64_t)sizeof *places, &room, err);
  if (!s) s = macko_encoder_send(e, room, places, (size_t)windows * sizeof *places, err);
  if (!s) s = macko_cuda_status(macko_eccsr_write_slices(&e->a, &v->all, room, d, e->stream), "encoding slices", err);
  free(places);
  return s;
}

/* A dictionary's codes depend on the order in which the host meets values, which is that of slots here, not of entries: they
 * are ranked first. */
static macko_status write_values(macko_encoder *e, macko_device_matrix *d, macko_error *err)
{
  macko_status s = MACKO_OK;
  if (d->m.plan.table) s = macko_cuda_status(macko_eccsr_rank_slots(&e->a, d, &e->values, e->stream), "ranking values", err);
  if (!s && d->m.plan.table) s = macko_encoder_number(e, d, &e->values, macko_encoder_send_values, err);
  return s ? s : macko_cuda_status(macko_eccsr_write_slots(&e->a, d, &e->values, e->stream), "writing values", err);
}

/* The pattern stays as it is, whatever the values are. */
static macko_status refresh(macko_encoder *e, macko_device_matrix *d, int *moved, int *done, macko_error *err)
{
  *done = 1;
  return macko_refresh_sections(e, d, moved, err);
}

/* The plan holds all that prepare asks for. */
static macko_reads reads(const macko_matrix *m)
{
  (void)m;
  return MACKO_READS_NOTHING;
}

/* The host extracts the blocks of variants paper and shared, and says which gaps only these have. */
static int on_host(const macko_options *options, int64_t nnz)
{
  (void)nnz;
  return options->format == MACKO_FORMAT_ECCSR && (options->variant || options->gap_bits);
}

const macko_device_ops macko_eccsr_device_ops = {
  .prepare = macko_eccsr_device_prepare,
  .multiply = macko_eccsr_device_multiply,
  .destroy = macko_eccsr_device_destroy,
  .diagonal = NULL, /* products are all that it has kernels for */
  .on_host = on_host,
  .facts = &facts,
  .encode = macko_encode_sections,
  .plan_and_encode = NULL,
  .refresh = refresh,
  .close = close_survey,
  .write_pattern = write_pattern,
  .write_values = write_values,
  .move_values = NULL, /* headers count slots, whatever their size */
  .reads = reads};
