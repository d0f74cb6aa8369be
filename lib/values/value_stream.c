/* The sections of a value stream: written anew, put into a matrix, or written over. */
#include "core/threads.h"
#include "values/codecs.h"

#include <stdlib.h>
#include <string.h>

/* Makes a section of that name as m->plan asks for it, with zeroed data; *section stays without data where the plan asks for
 * none. */
static macko_status new_section(const macko_matrix *m, const char *name, macko_section *section, macko_error *err)
{
  macko_section list[MACKO_MAX_SECTIONS];
  int n = m->ops->sections(m, list);
  for (int i = 0; i < n; i++)
    if (!strcmp(list[i].name, name)) return macko_new_section(list[i], section, err);
  return MACKO_OK;
}

/* Sections and writer are cleared first, so that end may free them whatever failed. */
macko_status macko_begin_values(const macko_csr *a, const macko_matrix *m, macko_section *values, macko_section *dict,
                                macko_value_writer *w, macko_error *err)
{
  const macko_codec codec = macko_codec_of(&m->plan);
  *values = *dict = (macko_section){0}, *w = (macko_value_writer){0};
  macko_status s = new_section(m, "values", values, err);
  if (!s) s = new_section(m, "dict", dict, err);
  return s ? s : macko_open_writer(a, &codec, values->data, dict->data, w, err);
}

macko_status macko_end_values(macko_status s, macko_section *values, macko_section *dict, macko_value_writer *w, macko_error *err)
{
  if (!s) s = macko_check_writer(w, err);
  macko_close_writer(w);
  if (s) free(values->data), free(dict->data);
  return s;
}

macko_status macko_new_values(const macko_csr *a, const macko_matrix *m, const macko_cut *cut, macko_value_walk walk,
                              macko_section *values, macko_section *dict, macko_error *err)
{
  const macko_value_source source = {a, m, 0};
  macko_value_writer w;
  macko_status s = macko_begin_values(a, m, values, dict, &w, err);
  if (!s) macko_write_in_parts(&w, cut, m->nnz, walk, &source);
  return macko_end_values(s, values, dict, &w, err);
}

void macko_put_values(macko_matrix *m, const macko_section *values, const macko_section *dict)
{
  macko_drop_values(m);
  macko_put_section(m, values);
  if (dict->data) macko_put_section(m, dict);
}

/* Without a dictionary opening the writer needs no memory, which is why nothing can fail. */
void macko_overwrite_values(const macko_csr *a, macko_matrix *m, const macko_cut *cut, macko_value_walk walk)
{
  const macko_codec codec = macko_codec_of(&m->plan);
  const macko_value_source source = {a, m, 0};
  const macko_section *values = macko_find_section(m, "values");
  macko_value_writer w;
  macko_open_writer(a, &codec, values->data, NULL, &w, NULL);
  w.past_caches = values->bytes > MACKO_CACHED_VALUES;
  macko_write_in_parts(&w, cut, m->nnz, walk, &source);
}
