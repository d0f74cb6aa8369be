/* Binsparse files written, through HDF5. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "common/binsparse.h"

#if HAVE_HDF5

#include "common/arrays.h"

#include <hdf5.h>
#include <stdlib.h>

/* Writes an array as it is in memory: `type` is that of the file, and HDF5 converts from the native one. It is told to note no
 * times, so that the same matrix gives the same file. Returns 1 if it was written. */
static int put_array(hid_t file, const char *name, hid_t type, int64_t count, const void *data)
{
  const hsize_t size = (hsize_t)count;
  hid_t space = H5Screate_simple(1, &size, NULL), how = H5Pcreate(H5P_DATASET_CREATE);
  hid_t memory = H5Tget_native_type(type, H5T_DIR_ASCEND);
  H5Pset_obj_track_times(how, 0);
  hid_t array = H5Dcreate2(file, name, type, space, H5P_DEFAULT, how, H5P_DEFAULT);
  int written = array >= 0 && (!count || H5Dwrite(array, memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  H5Dclose(array), H5Tclose(memory), H5Pclose(how), H5Sclose(space);
  return written;
}

/* Indices are written as unsigned ones, which is what Binsparse has names for. They are never negative, so the bits are the
 * same. */
static int put_indices(hid_t file, const char *name, macko_type type, int64_t count, const void *data)
{
  return put_array(file, name, type == MACKO_I64 ? H5T_STD_U64LE : H5T_STD_U32LE, count, data);
}

/* Types that Binsparse has no name for, f16 and bf16, are written as float32, in which they are exact. */
static int put_values(hid_t file, const macko_csr *a, int64_t nnz)
{
  if (a->value_type == MACKO_F64) return put_array(file, "values", H5T_IEEE_F64LE, nnz, a->values);
  if (a->value_type == MACKO_F32) return put_array(file, "values", H5T_IEEE_F32LE, nnz, a->values);
  float *singles = malloc((size_t)nnz * sizeof *singles + 4);
  for (int64_t p = 0; p < nnz && singles; p++) singles[p] = (float)value_at(a->value_type, a->values, p);
  int written = singles && put_array(file, "values", H5T_IEEE_F32LE, nnz, singles);
  free(singles);
  return written;
}

/* Writes the descriptor as an attribute of the root group, as text of a fixed length. */
static int put_head(hid_t file, const macko_csr *a, int64_t nnz)
{
  char text[512];
  /* There are names, a version and few numbers in it, so that 512 characters are enough for any matrix. */
  const int length = snprintf(text, sizeof text,
                              "{\"binsparse\": {\"version\": \"0.1\", \"format\": \"CSR\", \"shape\": [%lld, %lld], "
                              "\"number_of_stored_values\": %lld, \"data_types\": {\"pointers_to_1\": \"uint%d\", "
                              "\"indices_1\": \"uint%d\", \"values\": \"float%d\"}}}",
                              (long long)a->nrows, (long long)a->ncols, (long long)nnz, a->row_ptr_type == MACKO_I64 ? 64 : 32,
                              a->col_type == MACKO_I64 ? 64 : 32, a->value_type == MACKO_F64 ? 64 : 32);
  hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR);
  H5Tset_size(type, (size_t)length + 1), H5Tset_cset(type, H5T_CSET_UTF8);
  hid_t attribute = H5Acreate2(file, "binsparse", type, space, H5P_DEFAULT, H5P_DEFAULT);
  int written = attribute >= 0 && H5Awrite(attribute, type, text) >= 0;
  H5Aclose(attribute), H5Sclose(space), H5Tclose(type);
  return written;
}

/* Copies the finished file out of HDF5's memory into f. Returns 1 if all of it arrived. */
static int copy_image(hid_t file, FILE *f)
{
  const ssize_t size = H5Fflush(file, H5F_SCOPE_GLOBAL) < 0 ? 0 : H5Fget_file_image(file, NULL, 0);
  char *image = size > 0 ? malloc((size_t)size) : NULL;
  int written = image && H5Fget_file_image(file, image, (size_t)size) == size && fwrite(image, 1, (size_t)size, f) == (size_t)size;
  free(image);
  return written;
}

/* HDF5 makes the file in memory, growing a megabyte at a time. So it can go through a pipe, and a full disk is reported by stdio
 * instead of by HDF5's stack of errors. */
int binsparse_write(FILE *f, const macko_csr *a, const char **why)
{
  enum { GROWTH = 1 << 20 };
  const int64_t nnz = row_at(a, a->nrows);
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_core(access, GROWTH, 0);
  hid_t file = H5Fcreate("matrix.bsp.h5", H5F_ACC_TRUNC, H5P_DEFAULT, access);
  *why = "no memory for the HDF5 file";
  int made = file >= 0 && put_indices(file, "pointers_to_1", a->row_ptr_type, a->nrows + 1, a->row_ptr) &&
             put_indices(file, "indices_1", a->col_type, nnz, a->cols) && put_values(file, a, nnz) && put_head(file, a, nnz);
  /* The file is whole in memory: what fails from here on is writing, of which errno tells. */
  if (made) *why = NULL;
  int written = made && copy_image(file, f);
  H5Fclose(file), H5Pclose(access);
  return written;
}

#else

int binsparse_write(FILE *f, const macko_csr *a, const char **why)
{
  (void)f, (void)a;
  *why = "this macko was not built with HDF5";
  return 0;
}

#endif
