/* Encoding on the device: facts from kernels, choices from libmacko (lib/core/facts.h), bytes from kernels. What only the host
 * can do (layout paper, rows that are unsorted or hold duplicates, errors that name a place) goes there and back. */
#include "core/encoder.h"

#include <stdlib.h>
#include <string.h>

/* ---- what the host must do ---- */

int macko_is_hosts(macko_format format, const macko_options *o, int64_t nnz)
{
  const macko_device_ops *ops = macko_device_ops_of(format);
  return !ops || !ops->encode || (ops->on_host && ops->on_host(o, nnz));
}

/* Says whether the host must do it all. For a CPU the automatic choice may go by a sample, which only the host takes; a format
 * that competes without an encoder here is no hindrance before it is chosen. nnz is -1 as long as it is not known. */
static int needs_host(const macko_options *o, int64_t nnz)
{
  int hosts = 0;
  if (o->format == MACKO_FORMAT_AUTO && o->target == MACKO_TARGET_CPU) return 1;
  if (o->format != MACKO_FORMAT_AUTO) return (unsigned)o->format > MACKO_FORMAT_AUTO || macko_is_hosts(o->format, o, nnz);
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const macko_device_ops *ops = macko_device_ops_of((macko_format)i);
    hosts |= ops && ops->on_host && ops->on_host(o, nnz);
  }
  return hosts;
}

/* This is a csr copied to the host: csr points to the three arrays, which free_copy frees. */
typedef struct {
  macko_csr csr;
  void *row_ptr, *cols, *values;
} host_copy;

/* Copies count elements from the device to a new array, which is the caller's to free also after a failure. One byte more is
 * taken, as malloc may answer NULL for none. */
static macko_status fetch_array(const void *from, int64_t count, macko_type type, cudaStream_t stream, void **to,
                                macko_error *err)
{
  size_t bytes = (size_t)(count * macko_type_bytes(type));
  if (!(*to = malloc(bytes + 1)))
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %zu bytes of a matrix on the GPU", bytes);
  macko_status s =
      macko_cuda_status(cudaMemcpyAsync(*to, from, bytes, cudaMemcpyDeviceToHost, stream), "copying a matrix from the GPU", err);
  return s ? s : macko_cuda_status(cudaStreamSynchronize(stream), "copying a matrix from the GPU", err);
}

/* Copies as many entries as row_ptr says that there are. Where row_ptr is wrong nobody knows how many that is: columns and
 * values are left out, and libmacko says what is wrong before it would read any. */
static macko_status copy_to_host(const macko_csr *csr, cudaStream_t stream, host_copy *copy, macko_error *err)
{
  *copy = (host_copy){.csr = *csr};
  macko_status s = fetch_array(csr->row_ptr, csr->nrows + 1, csr->row_ptr_type, stream, &copy->row_ptr, err);
  if (s) return s;
  copy->csr.row_ptr = copy->row_ptr, copy->csr.cols = copy->csr.values = NULL;
  int right = macko_csr_row(&copy->csr, 0) == 0;
  for (int64_t i = 0; i < csr->nrows; i++) right &= macko_csr_row(&copy->csr, i + 1) >= macko_csr_row(&copy->csr, i);
  if (!right || !csr->cols || !csr->values) return MACKO_OK;
  s = fetch_array(csr->cols, macko_csr_nnz(&copy->csr), csr->col_type, stream, &copy->cols, err);
  if (!s) s = fetch_array(csr->values, macko_csr_nnz(&copy->csr), csr->value_type, stream, &copy->values, err);
  copy->csr.cols = copy->cols, copy->csr.values = copy->values;
  return s;
}

static void free_copy(host_copy *copy)
{
  free(copy->row_ptr), free(copy->cols), free(copy->values);
}

/* Goes the host's way: the csr is copied there, encoded by libmacko and uploaded. It waits for the copies, as the matrix on the
 * host is freed. */
static macko_status encode_on_host(const macko_csr *csr, const macko_options *options, cudaStream_t stream,
                                   macko_device_matrix **device, macko_error *err)
{
  host_copy copy;
  macko_matrix *m = NULL;
  macko_device_matrix *d = NULL;
  macko_status s = copy_to_host(csr, stream, &copy, err);
  if (!s) s = macko_encode(&copy.csr, options, &m, err);
  free_copy(&copy);
  if (!s) s = macko_device_upload(m, stream, &d, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), "copying the matrix to the GPU", err);
  macko_destroy(&m);
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

/* Goes the host's way to new values: the matrix is copied back and refreshed there, which also proves the pattern or says what
 * is wrong, and then refreshes the one on the device. */
static macko_status refresh_on_host(macko_device_matrix *d, const macko_csr *csr, cudaStream_t stream, int *moved,
                                    macko_error *err)
{
  host_copy copy;
  macko_matrix *m = NULL;
  macko_status s = copy_to_host(csr, stream, &copy, err);
  if (!s) s = macko_device_fetch(d, stream, &m, err);
  if (!s) s = macko_refresh(m, &copy.csr, err);
  free_copy(&copy);
  if (!s) s = macko_device_refresh(d, m, stream, moved, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(stream), "copying new values", err);
  macko_destroy(&m);
  return s;
}

/* ---- a new matrix ---- */

/* A format without its own functions for counting on the device has NULL there and is not asked for facts about columns. */
macko_facts macko_encoder_facts(macko_encoder *e)
{
  macko_facts f = {.csr = &e->csr, .nnz = e->a.nnz, .sectors = macko_encoder_sectors, .context = e};
  f.values = (macko_value_facts){e->csr.value_type, macko_encoder_misfit, macko_encoder_distinct, e};
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const macko_device_ops *ops = macko_device_ops_of((macko_format)i);
    f.of_format[i] = ops ? ops->facts : NULL;
  }
  return f;
}

/* The plan tells the exact size of every section, so that all memory is taken before anything is written. */
macko_status macko_encode_sections(macko_encoder *e, const macko_matrix *m, macko_device_matrix **device, macko_error *err)
{
  const macko_device_ops *ops = macko_device_ops_of(m->format);
  macko_device_matrix *d = NULL;
  macko_status s = macko_device_new(m, &d, err);
  if (!s) {
    d->m.nsections = m->ops->sections(&d->m, d->m.sections);
    s = macko_device_allocate(d, e->stream, err);
  }
  if (!s) s = ops->write_pattern(e, d, err);
  if (!s) s = ops->write_values(e, d, err);
  if (!s) s = macko_cuda_status(cudaStreamSynchronize(e->stream), "encoding", err);
  if (!s) s = macko_device_finish(d, e->stream, err);
  if (s) macko_device_destroy(&d);
  else *device = d;
  return s;
}

/* Slabs hold several rooms: CUDA takes 50 us to map memory and 60 to unmap it, and some 1 us more for each MB, so that slabs are
 * not much larger than what rooms take in most matrices. */
static int64_t usual_slab(int64_t nnz)
{
  enum { LEAST = 1 << 20, ENTRY_BYTES = 3, MOST = 1 << 28 };
  return nnz < (MOST - LEAST) / ENTRY_BYTES ? LEAST + nnz * ENTRY_BYTES : MOST;
}

/* libmacko makes the plan by what the encoder's kernels count, as it does for a csr on the host. Where a format of the host's
 * won, e->readable becomes 0, which sends the caller that way. */
macko_status macko_encoder_encode(macko_encoder *e, const macko_options *options, macko_device_matrix **device, macko_error *err)
{
  macko_facts facts = macko_encoder_facts(e);
  macko_matrix *m = NULL;
  e->slab_bytes = usual_slab(e->a.nnz);
  macko_status s = macko_plan_matrix(&facts, options, &m, err);
  if (s) return s;
  const macko_device_ops *ops = macko_device_ops_of(m->format);
  if (ops && ops->encode) s = ops->encode(e, m, device, err);
  else e->readable = 0;
  macko_destroy(&m);
  return s;
}

/* Whether the host must do it is asked twice: once before anything is looked at, and again when the number of entries is
 * known. */
macko_status macko_device_encode(const macko_csr *csr, const macko_options *options, cudaStream_t stream,
                                    macko_device_matrix **device, macko_error *err)
{
  macko_encoder e;
  macko_options usual;
  if (!csr || !device) return macko_fail(err, MACKO_INVALID_ARGUMENT, "csr and device must not be NULL");
  macko_status s = macko_check_types(csr, err);
  if (s) return s;
  macko_know_current_gpu();
  if (!options) {
    macko_options_init(&usual);
    usual.target = MACKO_TARGET_GPU;
    options = &usual;
  }
  if (options->prefer == MACKO_PREFER_MEASURED && options->target == MACKO_TARGET_GPU)
    return macko_device_encode_measured(csr, options, stream, device, err);
  if (needs_host(options, -1)) return encode_on_host(csr, options, stream, device, err);
  const macko_device_ops *asked = options->format == MACKO_FORMAT_AUTO ? NULL : macko_device_ops_of(options->format);
  int at_once = asked && asked->plan_and_encode;
  s = macko_open_encoder(csr, stream, &e, err);
  if (!s && e.readable && needs_host(options, e.a.nnz)) e.readable = 0;
  if (!s && e.readable) s = macko_encoder_check_overflow(&e, options, err);
  if (!s && e.readable && at_once) s = asked->plan_and_encode(&e, options, device, err);
  else if (!s && e.readable) s = macko_encoder_encode(&e, options, device, err);
  if (!s && e.readable) (*device)->m.pattern = e.pattern;
  macko_close_encoder(&e);
  /* The host's way needs no room on the device but for the matrix; what it refuses it says in its own words. */
  int refused = s == MACKO_UNSUPPORTED || s == MACKO_LIMIT || (at_once && s != MACKO_DEVICE);
  int left_to_host = s ? e.mistaken || s == MACKO_OUT_OF_MEMORY || refused : !e.readable;
  return left_to_host ? encode_on_host(csr, options, stream, device, err) : s;
}

/* ---- new values ---- */

/* Handles are what the program holds, so that the contents change places, not the handles. */
void macko_swap_matrices(macko_device_matrix *a, macko_device_matrix *b)
{
  macko_device_matrix t = *a;
  *a = *b, *b = t;
  a->transpose = b->transpose, b->transpose = NULL;
}

/* Copies the sections that tell of the pattern from one device matrix to another, which has them in the same sizes. */
static macko_status copy_pattern(const macko_device_matrix *from, const macko_device_matrix *to, cudaStream_t stream,
                                 macko_error *err)
{
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < from->m.nsections; i++) {
    const macko_section *old = &from->m.sections[i];
    if (!old->pattern) continue;
    s = macko_cuda_status(
        cudaMemcpyAsync(macko_device_data(to, old->name), old->data, (size_t)old->bytes, cudaMemcpyDeviceToDevice, stream),
        "copying the pattern", err);
  }
  return s;
}

/* Stores new values by another codec: sections of values have other sizes, so that a new matrix is made, to which the pattern
 * is copied. It takes the old one's place once it is complete; a failure leaves the old one as it was. */
static macko_status change_codec(macko_encoder *e, macko_device_matrix *d, const macko_plan *plan, macko_error *err)
{
  macko_matrix m = d->m;
  macko_device_matrix *fresh = NULL;
  int size_changes = macko_type_bytes(plan->stored_type) != macko_type_bytes(d->m.plan.stored_type);
  m.plan = *plan;
  m.nsections = m.ops->sections(&m, m.sections);
  macko_status s = macko_device_new(&m, &fresh, err);
  if (!s) s = macko_device_allocate(fresh, e->stream, err);
  if (!s) s = copy_pattern(d, fresh, e->stream, err);
  if (!s && size_changes && d->ops->move_values) s = d->ops->move_values(e, fresh, err);
  if (!s) s = d->ops->write_values(e, fresh, err);
  if (!s) s = macko_device_finish(fresh, e->stream, err);
  if (!s) macko_swap_matrices(d, fresh);
  macko_device_destroy(&fresh);
  return s;
}

/* Where the codec stays values are written in place, so that their addresses, which graphs have captured, stay the same. */
macko_status macko_put_plan(macko_encoder *e, macko_device_matrix *d, const macko_plan *plan, int *moved, macko_error *err)
{
  int changes_codec = plan->stored_type != d->m.plan.stored_type || plan->table != d->m.plan.table;
  *moved = changes_codec || macko_parameters_differ(&d->m.plan, plan);
  if (changes_codec) return change_codec(e, d, plan, err);
  d->m.plan = *plan;
  macko_status s = d->ops->write_values(e, d, err);
  return s ? s : d->ops->prepare(d, &d->m, e->stream, err);
}

macko_status macko_refresh_sections(macko_encoder *e, macko_device_matrix *d, int *moved, macko_error *err)
{
  macko_facts facts = macko_encoder_facts(e);
  macko_plan plan;
  macko_status s = d->m.ops->plan_values(&facts, &d->m, &plan, err);
  return s ? s : macko_put_plan(e, d, &plan, moved, err);
}

/* Entries are compared later, by the number of the pattern. */
macko_status macko_check_same_type(const macko_device_matrix *d, const macko_csr *csr, macko_error *err)
{
  macko_status s = macko_check_types(csr, err);
  if (s || (csr->nrows == d->m.nrows && csr->ncols == d->m.ncols && csr->value_type == d->m.value_type)) return s;
  return macko_fail(err, MACKO_INVALID_MATRIX, "a matrix of %lld x %lld values of type %s cannot refresh one of %lld x %lld, %s",
                    (long long)csr->nrows, (long long)csr->ncols, macko_type_name(csr->value_type), (long long)d->m.nrows,
                    (long long)d->m.ncols, macko_type_name(d->m.value_type));
}

/* What kernels cannot prove or do is left to the host, which finds the words for what is wrong; until then nothing of *device
 * has changed. */
macko_status macko_device_refresh_csr(macko_device_matrix *device, const macko_csr *csr, cudaStream_t stream, int *moved,
                                      macko_error *err)
{
  macko_encoder e;
  macko_device_matrix *transpose = NULL;
  int done = 0, changed = 0;
  if (!device || !csr) return macko_fail(err, MACKO_INVALID_ARGUMENT, "device and csr must not be NULL");
  macko_status s = macko_check_same_type(device, csr, err);
  if (!s) s = macko_check_device(device, err);
  if (s) return s;
  const macko_options stored = {.format = device->m.format, .layout = device->m.plan.layout, .variant = device->m.plan.variant};
  if (macko_is_hosts(stored.format, &stored, -1)) return refresh_on_host(device, csr, stream, moved, err);
  s = macko_open_encoder(csr, stream, &e, err);
  /* The new transpose comes first, so that the old values and the old transpose stay together where it cannot be made. */
  int same = !s && e.readable && e.pattern == device->m.pattern;
  if (same && macko_encoder_check_overflow(&e, &device->m.options, &(macko_error){0})) same = 0; /* the host says which */
  if (same && device->transpose) s = macko_encode_transpose(&e, device, &transpose, err);
  if (!s && same && (transpose || !device->transpose)) s = device->ops->refresh(&e, device, &changed, &done, err);
  if (!s && done) device->m.pattern = e.pattern; /* also where all was encoded again */
  macko_close_encoder(&e);
  if (!s && done && moved) *moved = changed || transpose;
  if (!s && done) macko_put_transpose(device, &transpose);
  macko_device_destroy(&transpose);
  return s || done ? s : refresh_on_host(device, csr, stream, moved, err);
}
