/* The macko format (Macko & Boza, arXiv 2511.13061): column gaps of a few bits, aligned one to one with the values. This file
 * has what its layouts share, which have files of their own. */
#include "core/product.h"
#include "core/threads.h"
#include "macko/slice_apart.h"
#include "macko/slice_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* These are the answers to what planning asks, for a csr in host memory. */
static const macko_column_facts host_columns = {macko_host_slices, macko_host_sample, macko_host_rows,
                                               macko_host_sorted_sectors, macko_host_longest_row};

/* ---- what a matrix is stored in ---- */

/* Everything that holds values is listed here: for encoding, for refresh and for sizes that a file must keep to. */
macko_value_sections macko_values_of(const macko_matrix *m)
{
  const macko_plan *plan = &m->plan;
  int64_t slots = macko_layout_of(plan->layout)->value_slots(m->nnz, plan, macko_type_bytes(plan->stored_type));
  int64_t pairs = plan->values == MACKO_VALUES_PAIRS ? plan->table : 0;
  return (macko_value_sections){macko_value_section("values", plan->stored_type, slots),
                                macko_value_section("dict", m->value_type, plan->table),
                                macko_value_section("pair_gaps", MACKO_U32, pairs)};
}

/* Lists the sections of the layout's pattern, then those of the values, and gives their number: the order in which
 * doc/formats/macko.md has them. */
static int sections(const macko_matrix *m, macko_section list[MACKO_MAX_SECTIONS])
{
  const macko_value_sections v = macko_values_of(m);
  int n = macko_layout_of(m->plan.layout)->sections(m, list);
  list[n++] = v.values;
  if (v.dict.bytes) list[n++] = v.dict;
  if (v.pair_gaps.bytes) list[n++] = v.pair_gaps;
  return n;
}

/* ---- encode and refresh ---- */

/* As a macko_value_walk this writes items from .. to - 1, which count from source->first, the layout's from the first of the
 * matrix. */
static void write_items(const void *context, macko_value_writer *w, int64_t from, int64_t to)
{
  const macko_value_source *source = context;
  macko_layout_of(source->m->plan.layout)->write_values(source->a, source->m, w, source->first + from, source->first + to);
}

/* Cuts the items of a whole matrix, which are rows or slices, by their entries. */
static macko_cut cut_items(const macko_csr *a, const macko_matrix *m)
{
  return macko_cut_rows(a, macko_layout_of(m->plan.layout)->rows_of_item);
}

/* Writes the values of the rows in view. Items of a piece are taken as alike, as starts of rows before it are not there. The view
 * begins with an item, because it begins with a multiple of MACKO_SLICE_WINDOW. */
static void write_view(const macko_view *v, const macko_matrix *m, macko_value_writer *w)
{
  const int64_t per = macko_layout_of(m->plan.layout)->rows_of_item;
  const macko_value_source source = {&v->view, m, v->first / per};
  const macko_cut whole = cut_items(&v->view, m), piece = {.n = (v->past - v->first + per - 1) / per};
  w->values = v->view.values, w->in_pieces = !v->rows->whole;
  macko_write_in_parts(w, w->in_pieces ? &piece : &whole, macko_view_entries(v), write_items, &source);
}

/* Makes the value stream of m->plan in fresh sections *v, which the caller owns; nothing of m changes, so that a failure leaves
 * the matrix as it was. Rows are asked for in whole windows, because a row that is sorted by length may stand anywhere in its
 * window. */
static macko_status new_values(macko_rows *rows, const macko_matrix *m, macko_value_sections *v, macko_error *err)
{
  const macko_csr shape = {.value_type = rows->value_type};
  macko_value_writer w;
  if (m->plan.values == MACKO_VALUES_PAIRS) return macko_new_pairs(rows, m, 0, v, err);
  *v = (macko_value_sections){0};
  macko_status s = macko_begin_values(&shape, m, &v->values, &v->dict, &w, err);
  macko_view view = macko_open_view(rows, MACKO_SLICE_WINDOW);
  while (macko_next_view(&view, &s, err)) write_view(&view, m, &w);
  macko_close_view(&view);
  return macko_end_values(s, &v->values, &v->dict, &w, err);
}

/* Puts the sections of *v, now owned by m, in the place of those that m has; cannot fail. */
static void put_values(macko_matrix *m, const macko_value_sections *v)
{
  macko_put_values(m, &v->values, &v->dict);
  if (v->pair_gaps.data) macko_put_section(m, &v->pair_gaps);
}

/* This is encode of the format (format.h). The pattern comes first, because it says in which slot each value goes. Findings are
 * freed in between, as the value stream takes about as much memory. */
static macko_status encode(macko_findings *found, macko_matrix *m, macko_error *err)
{
  macko_value_sections v;
  macko_rows whole, *rows = macko_found_rows(found, &whole);
  macko_status s = macko_layout_of(m->plan.layout)->encode_pattern(found, m, err);
  macko_forget(found, MACKO_FORMAT_MACKO);
  if (!s) s = new_values(rows, m, &v, err);
  if (!s) put_values(m, &v);
  return s;
}

/* Encodes all of m anew, with the options that it was made with. The format stays macko, even where the options left it open. On
 * failure m is unchanged. */
static macko_status encode_again(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_options options = m->options;
  macko_matrix *fresh = NULL, old = *m;
  options.format = MACKO_FORMAT_MACKO;
  macko_status s = macko_encode_part(a, 1 + m->others, &options, &fresh, err);
  if (s) return s;
  *m = *fresh, *fresh = old;
  m->options = old.options;
  macko_destroy(&fresh);
  return MACKO_OK;
}

/* This is refresh under codec pairs, which takes new values for the gaps that m has. Where that makes more pairs than there are
 * codes, all is encoded anew. */
static macko_status refresh_pairs(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  macko_value_sections v;
  macko_rows rows = macko_rows_of(a);
  macko_status s = macko_new_pairs(&rows, m, 1, &v, err);
  if (s == MACKO_UNSUPPORTED) return encode_again(a, m, err);
  if (s) return s;
  macko_add_pairs(m, v.pair_gaps.bytes / 4 - m->plan.table, &m->plan);
  put_values(m, &v);
  return MACKO_OK;
}

/* This is refresh of the format (format.h). Three cases differ in what they cost. Where stencils or pairs no longer hold, the
 * matrix is encoded anew. Where the codec and its type stay and it is no dictionary, values are written over the old ones, which
 * needs no memory. Else there is a new stream, and where the size of its elements changes, new starts of slices; all of it is
 * made before m changes. */
static macko_status refresh(const macko_csr *a, macko_matrix *m, macko_error *err)
{
  const macko_layout_ops *ops = macko_layout_of(m->plan.layout);
  const macko_codec old = macko_codec_of(&m->plan);
  const macko_cut cut = cut_items(a, m);
  macko_findings found = {.csr = a, .others = m->others};
  macko_facts f = macko_host_facts(&found);
  macko_rows rows = macko_rows_of(a);
  macko_value_sections v;
  macko_section starts = {0};
  macko_matrix next = *m;
  if (ops->pattern_holds && !ops->pattern_holds(a, m)) return encode_again(a, m, err);
  if (old.values == MACKO_VALUES_PAIRS) return refresh_pairs(a, m, err);
  macko_status s = ops->fewer_values ? ops->fewer_values(a, m, &found.values.fewer, err) : MACKO_OK;
  if (!s) s = macko_plan_values(&f, m, &next.plan, err);
  free(found.values.fewer);
  if (s) return s;
  /* A dictionary is written anew, as its size may change; so is paper, whose marker is chosen by the values. */
  if (!ops->plan_values && old.values != MACKO_VALUES_DICT && next.plan.values == old.values &&
      next.plan.stored_type == old.stored_type) {
    m->plan = next.plan;
    macko_overwrite_values(a, m, &cut, write_items);
    return MACKO_OK;
  }
  if (ops->plan_values) s = ops->plan_values(&rows, &next.plan, err);
  if (!s && ops->move_values && macko_type_bytes(m->plan.stored_type) != macko_type_bytes(next.plan.stored_type))
    s = ops->move_values(&next, &starts, err);
  for (int i = 0; i < next.nsections && starts.data; i++) /* of `next` alone: values are written by them */
    if (!strcmp(next.sections[i].name, starts.name)) next.sections[i] = starts;
  if (!s) s = new_values(&rows, &next, &v, err);
  if (s) {
    free(starts.data);
    return s;
  }
  m->plan = next.plan;
  put_values(m, &v);
  if (starts.data) macko_put_section(m, &starts);
  return MACKO_OK;
}

/* This is decode of the format: the layout's own. */
static macko_status decode(const macko_matrix *m, int64_t *row_ptr, int64_t *cols, void *values, macko_error *err)
{
  return macko_layout_of(m->plan.layout)->decode(m, row_ptr, cols, values, err);
}

/* This is decode_rows of the format: the layout's own. */
static void decode_rows(const macko_matrix *m, const int64_t *starts, int64_t first, int64_t past, int64_t *cols, void *values)
{
  macko_layout_of(m->plan.layout)->decode_rows(m, starts, first, past, cols, values);
}

/* This is validate of the format. The codec comes first, as layouts rely on the size of its elements; codes are looked at last,
 * as the layout's check tells that section "values" has the length that it should. */
static macko_status validate(const macko_matrix *m, macko_error *err)
{
  if (m->plan.layout != MACKO_LAYOUT_ROW && m->plan.layout != MACKO_LAYOUT_SLICE && m->plan.layout != MACKO_LAYOUT_PAPER)
    return macko_fail(err, MACKO_CORRUPT, "layout %d is none of row, slice and paper", (int)m->plan.layout);
  if (m->ncols > INT32_MAX)
    return macko_fail(err, MACKO_CORRUPT, "format macko holds at most %d columns, not %lld", INT32_MAX, (long long)m->ncols);
  macko_status s = macko_check_codec(m, err);
  if (!s) s = macko_layout_of(m->plan.layout)->validate(m, err);
  return s ? s : macko_check_codes(m, err);
}

/* This is multiply of the format. For op T entries of a row add to any element of y, so that y is scaled by beta before; for op N
 * each element is written once, and scaled as it is. */
static macko_status multiply(const macko_matrix *m, const macko_product *p, macko_error *err)
{
  (void)err;
  if (p->op == MACKO_OP_T) macko_scale(p, m->ncols);
  macko_layout_of(m->plan.layout)->multiply(m, p);
  return MACKO_OK;
}

/* These are the names of all sections of all layouts, which a file may have. */
static const char *const section_names[] = {"row_ptr", "base", "block_base", "gaps", "long_ptr", "long_gaps", "slices",
                                            "blocks", "order", "values", "dict", "pair_gaps", NULL};

const macko_format_ops macko_macko_ops = {
  .plan = macko_macko_plan,
  .facts = &host_columns,
  .forget = macko_forget_slices,
  .plan_values = macko_plan_values,
  .sections = sections,
  .section_names = section_names,
  .encode = encode,
  .refresh = refresh,
  .prepare = NULL, /* products read the sections */
  .decode = decode,
  .validate = validate,
  .multiply = multiply,
  .encode_rows = NULL, /* what planning has counted is not looked at again */
  .may_win = NULL,     /* plan itself foresees where it has no chance */
  .promise = macko_macko_promise,
  .forms = macko_macko_forms,
  .nforms = MACKO_MACKO_FORMS,
  .in_pieces = 1,
  .decode_rows = decode_rows};
