/* Format eccsr from rows that come in pieces: counted and encoded a window at a time. */
#include "eccsr/eccsr.h"

enum { WINDOW = MACKO_ECCSR_WINDOW };

/* The arrays of a window begin at its first row: a pointer so many rows before them is never followed there. */
macko_status macko_eccsr_get_window(macko_eccsr_input *in, int64_t window, macko_csr *view, macko_error *err)
{
  int64_t first = window * WINDOW, count = in->nrows - first < WINDOW ? in->nrows - first : WINDOW;
  if (in->whole) {
    *view = *in->whole;
    return MACKO_OK;
  }
  macko_status s = macko_assemble(in->rows, first, count, &in->room, view, err);
  if (s) return s;
  view->row_ptr = (const void *)((uintptr_t)view->row_ptr - (uintptr_t)first * sizeof(int64_t));
  view->nrows = first + count;
  return MACKO_OK;
}

static int64_t entries_of(const macko_csr *view, int64_t window)
{
  return macko_csr_row(view, view->nrows) - macko_csr_row(view, window * WINDOW);
}

/* ---- facts ---- */

static macko_status sample(void *context, macko_eccsr_shape *shape, macko_error *err)
{
  return macko_eccsr_sample(context, shape, err);
}

/* Slices are put into the sink, or with an empty one counted, and values by the writer, if there is one. */
static macko_status put_windows(macko_eccsr_input *in, const macko_eccsr_shape *shape, macko_matrix *m, macko_eccsr_sink *sink,
                                macko_value_writer *writer, macko_error *err)
{
  macko_eccsr_window *w = NULL;
  macko_csr view;
  int64_t before = 0;
  macko_status s = macko_eccsr_new_window(&w, err);
  for (int64_t i = 0; !s && i < macko_eccsr_windows(in->nrows); i++) {
    s = macko_eccsr_get_window(in, i, &view, err);
    if (!s) s = macko_eccsr_fill_window(&view, shape, i * WINDOW, w, err);
    if (s) break;
    int64_t slices = sink->at.slices;
    macko_eccsr_put_window(&view, w, before, sink);
    if (writer) writer->values = view.values, macko_eccsr_write_values(&view, m, writer, slices, sink->at.slices);
    before += entries_of(&view, i);
  }
  macko_eccsr_free_window(w);
  return s;
}

static macko_status count(void *context, const macko_eccsr_shape *shape, macko_eccsr_counts *counts, macko_eccsr_work *work,
                          macko_error *err)
{
  macko_eccsr_sink sink = {.slices = NULL};
  macko_status s = put_windows(context, shape, NULL, &sink, NULL, err);
  *counts = sink.at, *work = sink.work;
  return s;
}

/* Nothing is estimated: rows in pieces are encoded by formats that were asked for. */
static const macko_eccsr_facts facts_of_rows = {NULL, sample, count};

/* ---- encode ---- */

static macko_status count_entries(macko_rows *rows, int64_t *nnz, macko_error *err)
{
  macko_status s = MACKO_OK;
  macko_csr piece = {0};
  *nnz = 0;
  for (int64_t first = 0, step = macko_rows_step(rows); !s && first < rows->nrows; first += piece.nrows) {
    s = macko_get_rows(rows, first, step < rows->nrows - first ? step : rows->nrows - first, &piece, err);
    if (!s) *nnz += macko_csr_row(&piece, piece.nrows) - macko_csr_row(&piece, 0);
  }
  return s;
}

static macko_status fill_sections(macko_eccsr_input *in, macko_matrix *m, macko_error *err)
{
  const macko_csr shape = {.value_type = m->value_type};
  const macko_codec codec = {m->plan.values, m->plan.stored_type, m->plan.lossy, m->plan.table};
  const macko_eccsr_params *params = macko_eccsr_params_of(&m->plan);
  macko_value_writer w = {0};
  macko_status s = macko_add_sections(m, 0, err);
  if (s) return s;
  macko_eccsr_sink sink = {.slices = macko_section_data(m, "slices"), .words = macko_section_data(m, "gaps"),
                           .bases = macko_section_data(m, "bases"), .rows = macko_section_data(m, "rows"),
                           .lengths = macko_section_data(m, "lengths"),
                           .length_bytes = macko_eccsr_length_bytes(&params->of.counts)};
  s = macko_open_writer(&shape, &codec, macko_section_data(m, "values"), macko_section_data(m, "dict"), &w, err);
  if (!s) s = put_windows(in, &params->of.shape, m, &sink, &w, err);
  if (!s) s = macko_check_writer(&w, err);
  macko_close_writer(&w);
  return s;
}

/* What is there as a whole is looked at and encoded in parts, by threads. */
static macko_status encode_whole(const macko_csr *whole, macko_matrix *m, macko_error *err)
{
  macko_findings found = {.csr = whole, .handed_on = 1};
  const macko_facts facts = macko_host_facts(&found);
  m->nnz = facts.nnz;
  macko_status s = macko_eccsr_plan(&facts, &m->options, &m->plan, err);
  return s ? s : macko_eccsr_encode(&found, m, err);
}

macko_status macko_eccsr_encode_rows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  macko_eccsr_input in = {.rows = rows, .nrows = rows->nrows};
  const macko_csr shape = {.nrows = rows->nrows, .ncols = rows->ncols, .value_type = rows->value_type};
  macko_facts facts = {.csr = &shape, .values = macko_facts_of_rows(rows), .context = &in};
  if (rows->whole) return encode_whole(rows->whole, m, err);
  facts.of_format[MACKO_FORMAT_ECCSR] = &facts_of_rows;
  macko_status s = count_entries(rows, &m->nnz, err);
  facts.nnz = m->nnz;
  if (!s) s = macko_eccsr_plan(&facts, &m->options, &m->plan, err);
  if (!s) s = fill_sections(&in, m, err);
  macko_free_assembly(&in.room);
  return s;
}
