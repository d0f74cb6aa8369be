/* Format eccsr from rows that come in pieces: counted and encoded a window at a time. */
#include "eccsr/eccsr.h"

enum { WINDOW = MACKO_ECCSR_WINDOW };

/* Goes through all windows. Slices are put into the sink, or with an empty one counted, and values are written by the writer, if
 * there is one, while the rows of their window are at hand, so that these are asked for once. */
static macko_status put_windows(macko_rows *rows, const macko_eccsr_shape *shape, macko_matrix *m, macko_eccsr_sink *sink,
                                macko_value_writer *writer, macko_error *err)
{
  macko_eccsr_window *w = NULL;
  macko_assembly room = {0};
  macko_csr view;
  macko_status s = macko_eccsr_new_window(&w, err);
  for (int64_t i = 0; !s && i < macko_eccsr_windows(rows->nrows); i++) {
    s = macko_eccsr_view_window(rows, i, &room, &view, err);
    if (!s) s = macko_eccsr_fill_window(&view, shape, i * WINDOW, w, err);
    if (s) break;
    const int64_t slices = sink->at.slices;
    s = macko_eccsr_put_window(w, sink, err);
    if (!s && writer) writer->values = view.values, macko_eccsr_write_values(&view, m, writer, slices, sink->at.slices);
  }
  macko_eccsr_free_window(w);
  macko_free_assembly(&room);
  return s;
}

/* Nothing is kept for encoding, which asks for the rows again. */
macko_status macko_eccsr_count_windows(macko_rows *rows, const macko_eccsr_shape *shape, macko_eccsr_counts *counts,
                                       macko_eccsr_work *work, macko_error *err)
{
  macko_eccsr_sink sink = {.slices = NULL};
  macko_status s = put_windows(rows, shape, NULL, &sink, NULL, err);
  *counts = sink.at, *work = sink.work;
  return s;
}

/* Sections have the lengths that were counted. A source that gives other rows the second time is found out when rows are asked
 * for (macko_get_rows), values that do not fit the codec by the writer. */
macko_status macko_eccsr_encode_windows(macko_rows *rows, macko_matrix *m, macko_error *err)
{
  const macko_csr shape = {.value_type = m->value_type};
  const macko_codec codec = macko_codec_of(&m->plan);
  const macko_eccsr_params *params = macko_eccsr_params_of(&m->plan);
  macko_value_writer w = {0};
  macko_status s = macko_add_sections(m, 0, err);
  if (s) return s;
  macko_eccsr_sink sink = {.slices = macko_section_data(m, "slices"), .words = macko_section_data(m, "gaps"),
                           .bases = macko_section_data(m, "bases"), .rows = macko_section_data(m, "rows"),
                           .lengths = macko_section_data(m, "lengths"),
                           .length_bytes = macko_eccsr_length_bytes(&params->of.counts)};
  s = macko_open_writer(&shape, &codec, macko_section_data(m, "values"), macko_section_data(m, "dict"), &w, err);
  if (!s) s = put_windows(rows, &params->of.shape, m, &sink, &w, err);
  if (!s) s = macko_check_writer(&w, err);
  macko_close_writer(&w);
  return s;
}
