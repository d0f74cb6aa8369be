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
  int compared_all;                /* `same` is known of all rows, not of the sample only */
  int is_sampled, is_grouped;      /* what follows is known */
  macko_eccsr_sampled sampled;
  macko_eccsr_groups groups;
  macko_eccsr_windows all;         /* all windows by the shape that was last counted */
  macko_eccsr_found_window *found; /* of all windows, on the host */
} survey;

/* Gives the number of windows of the csr, the last of which may have fewer rows. */
static int64_t windows_of(const macko_encoder *e)
{
  return (e->a.nrows + WINDOW - 1) / WINDOW;
}

/* ---- looks at some rows ---- */

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

/* Sets *w up for all windows, with room for what is found in them. */
static macko_status take_windows(macko_encoder *e, const uint8_t *same, int64_t windows, macko_eccsr_windows *w, macko_error *err)
{
  void *keys = NULL, *slices = NULL, *found = NULL, *heights = NULL;
  macko_status s = macko_encoder_room(e, windows * WINDOW, &heights, err);
  if (!s) s = macko_encoder_room(e, windows * WINDOW * (int64_t)sizeof *w->keys, &keys, err);
  if (!s) s = macko_encoder_room(e, windows * MACKO_ECCSR_WINDOW_SLICES * (int64_t)sizeof *w->slices, &slices, err);
  if (!s) s = macko_encoder_room(e, windows * (int64_t)sizeof *w->found, &found, err);
  *w = (macko_eccsr_windows){{0}, windows, same, heights, keys, slices, found};
  return s;
}

/* Puts the rows of the windows *w into blocks and slices by a shape. found, on the host, gets what each window comes to. */
static macko_status find(macko_encoder *e, const macko_eccsr_shape *shape, macko_eccsr_windows *w, macko_eccsr_found_window *found,
                         macko_error *err)
{
  w->shape = *shape;
  macko_status s = macko_cuda_status(macko_eccsr_find_slices(&e->a, w, e->stream), "looking for blocks of rows", err);
  return s ? s : macko_encoder_read_back(e, found, w->found, (size_t)w->windows * sizeof *found, err);
}

/* Adds what a window comes to to the counts and the work of a product, but for the entries. Blocks of the kernels are rows that
 * follow each other, so that section "rows" has an element a block. */
static void add_window(const macko_eccsr_found_window *f, macko_eccsr_counts *c, macko_eccsr_work *work)
{
  c->slices += (int64_t)f->slices, c->blocks += (int64_t)f->blocks, c->rows += (int64_t)f->blocks;
  c->words += (int64_t)f->words, c->masked += (int64_t)f->masked, c->widths |= (int64_t)f->widths;
  if ((int64_t)f->longest > c->longest) c->longest = (int64_t)f->longest;
  work->masked += (int64_t)f->masked_entries, work->runs += (int64_t)f->runs;
  work->lanes += (int64_t)f->lanes, work->reads += (int64_t)f->reads, work->idle += (int64_t)f->idle;
}

/* ---- facts ---- */

/* The sample is kept: automatic choice asks for it before it plans. */
static macko_status sample(void *context, macko_eccsr_sampled *c, macko_error *err)
{
  macko_encoder *e = context;
  survey *v;
  macko_status s = open_survey(e, &v, err);
  if (!s) s = sample_rows(e, v, err);
  if (!s) *c = v->sampled;
  return s;
}

/* So are the groups. */
static macko_status groups(void *context, macko_eccsr_groups *c, macko_error *err)
{
  macko_encoder *e = context;
  survey *v;
  macko_status s = open_survey(e, &v, err);
  if (!s && !v->is_grouped) {
    s = macko_encoder_clear(e, err);
    if (!s) s = macko_cuda_status(macko_eccsr_count_groups(&e->a, e->answer, e->stream), "looking at groups of rows", err);
    if (!s) s = macko_encoder_read_back(e, &v->groups, e->answer, sizeof v->groups, err);
    v->is_grouped = !s;
  }
  if (!s) *c = v->groups;
  return s;
}

/* Gives what all windows come to by a shape, for which all rows are compared. The windows stay in device memory, as encoding by
 * the shape that was counted last writes them out. */
static macko_status count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                          macko_error *err)
{
  macko_encoder *e = context;
  const int64_t windows = windows_of(e);
  survey *v;
  macko_status s = open_survey(e, &v, err);
  if (!s) s = compare_rows(e, v, 0, err);
  if (!s && !v->found) {
    s = take_windows(e, v->same, windows, &v->all, err);
    v->found = s ? NULL : malloc((size_t)windows * sizeof *v->found + 1);
    if (!s && !v->found) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld windows of rows", (long long)windows);
  }
  if (!s) s = find(e, shape, &v->all, v->found, err);
  *counts = (macko_eccsr_counts){0}, *work = (macko_eccsr_work){0};
  for (int64_t i = 0; !s && i < windows; i++) add_window(&v->found[i], counts, work);
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
static const macko_eccsr_facts facts = {sample, groups, count, apart};

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
