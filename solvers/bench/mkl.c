/* macko-bench: the inspector-executor of oneMKL, loaded when it is there. What is declared here is the part of its C interface
 * (mkl_spblas.h, 32-bit integers) that is called. */
#include "bench/cpu.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Values of oneMKL's enumerations; MANY_CALLS is the hint that inspection may take its time. */
enum { SUCCESS = 0, NON_TRANSPOSE = 10, GENERAL = 20, COLUMN_MAJOR = 102, BASE_ZERO = 0, MANY_CALLS = 100000, SEQUENTIAL = 1,
       LP64 = 0 };

typedef void *sparse_matrix;
/* oneMKL's struct of the same name, passed by value. */
typedef struct {
  int type, mode, diagonal; /* the last two are not looked at for general matrices */
} matrix_descr;

/* Functions of the library, NULL until it is loaded. They are found by their names when the program runs, so that a build needs
 * no oneMKL. */
static struct {
  void *library;
  int (*create_f64)(sparse_matrix *, int, int, int, int *, int *, int *, double *);
  int (*create_f32)(sparse_matrix *, int, int, int, int *, int *, int *, float *);
  int (*hint)(sparse_matrix, int, matrix_descr, int);
  int (*hint_several)(sparse_matrix, int, matrix_descr, int, int, int);
  int (*optimize)(sparse_matrix);
  int (*multiply_f64)(int, double, sparse_matrix, matrix_descr, const double *, double, double *);
  int (*multiply_f32)(int, float, sparse_matrix, matrix_descr, const float *, float, float *);
  int (*several_f64)(int, double, sparse_matrix, matrix_descr, int, const double *, int, int, double, double *, int);
  int (*several_f32)(int, float, sparse_matrix, matrix_descr, int, const float *, int, int, float, float *, int);
  int (*destroy)(sparse_matrix);
} mkl;

static const matrix_descr general = {.type = GENERAL};

/* A matrix of oneMKL's. */
typedef struct {
  sparse_matrix handle;
  macko_type type;   /* of values and vectors */
  int rows, columns;
} mkl_method;

/* Multiplies k vectors at once, which are the columns of x and y. */
static int run_several(const mkl_method *p, int k, const void *x, void *y)
{
  return p->type == MACKO_F64
             ? mkl.several_f64(NON_TRANSPOSE, 1, p->handle, general, COLUMN_MAJOR, x, k, p->columns, 0, y, p->rows)
             : mkl.several_f32(NON_TRANSPOSE, 1, p->handle, general, COLUMN_MAJOR, x, k, p->columns, 0, y, p->rows);
}

/* A single vector has a function of its own, which is what a program would call. */
static macko_status run(const bench_method *m, int k, const void *x, void *y, macko_error *err)
{
  const mkl_method *p = m->own;
  int status = k > 1                ? run_several(p, k, x, y)
               : p->type == MACKO_F64 ? mkl.multiply_f64(NON_TRANSPOSE, 1, p->handle, general, x, 0, y)
                                      : mkl.multiply_f32(NON_TRANSPOSE, 1, p->handle, general, x, 0, y);
  return status == SUCCESS ? MACKO_OK : bench_refuse(err, MACKO_UNSUPPORTED, m->name, "the multiply fails");
}

/* Also called where the matrix could not be made. */
static void close_method(bench_method *m)
{
  mkl_method *p = m->own;
  if (p && p->handle) mkl.destroy(p->handle);
  free(p);
  m->own = NULL;
}

/* Opens `library` as a file, as a folder, or wherever the loader looks. Its symbols must be global: oneMKL opens parts of itself
 * that look for them. */
static void *open_library(const char *library)
{
  static const char *const names[] = {"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"};
  char path[1024];
  struct stat facts;
  void *handle = NULL;
#ifdef MKL_DIR
  if (!library) library = MKL_DIR;
#endif
  /* The loader takes a name without a slash for one to look for in folders of its own. */
  const char *here = library && !strchr(library, '/') ? "./" : "", *folder = library ? library : "", *slash = library ? "/" : "";
  snprintf(path, sizeof path, "%s%s", here, folder);
  /* A path that is not there is tried as a folder, and so is not found in the end. */
  if (library && !stat(library, &facts) && !S_ISDIR(facts.st_mode)) return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  for (int i = 0; !handle && i < 3; i++) {
    snprintf(path, sizeof path, "%s%s%s%s", here, folder, slash, names[i]);
    handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  }
  return handle;
}

/* Puts the function of that name into *to, which is a pointer to a function pointer; copied as bytes, as ISO C has no such cast.
 * Returns whether there is one. */
static int find(const char *name, void *to)
{
  void *found = dlsym(mkl.library, name);
  memcpy(to, &found, sizeof found);
  return found != NULL;
}

/* Finds all functions that are called here. Returns the first name that the library lacks, or NULL. */
static const char *find_all(void)
{
  const struct {
    const char *name;
    void *to;
  } all[] = {{"mkl_sparse_d_create_csr", &mkl.create_f64}, {"mkl_sparse_s_create_csr", &mkl.create_f32},
             {"mkl_sparse_set_mv_hint", &mkl.hint}, {"mkl_sparse_set_mm_hint", &mkl.hint_several},
             {"mkl_sparse_optimize", &mkl.optimize}, {"mkl_sparse_d_mv", &mkl.multiply_f64},
             {"mkl_sparse_s_mv", &mkl.multiply_f32}, {"mkl_sparse_d_mm", &mkl.several_f64},
             {"mkl_sparse_s_mm", &mkl.several_f32}, {"mkl_sparse_destroy", &mkl.destroy}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!find(all[i].name, all[i].to)) return all[i].name;
  return NULL;
}

/* The library is loaded once for the whole run. It is told to take 32-bit integers, and to be sequential where macko is. */
macko_status bench_load_mkl(const char *library, macko_error *err)
{
  int (*set_layer)(int);
  if (mkl.library) return MACKO_OK;
  mkl.library = open_library(library);
  if (!mkl.library && library)
    return bench_fail(err, MACKO_UNSUPPORTED, "--mkl %s: neither libmkl_rt nor a folder that holds libmkl_rt.so.3, libmkl_rt.so.2 or "
                      "libmkl_rt.so: %s", library, dlerror());
  if (!mkl.library) return bench_refuse(err, MACKO_UNSUPPORTED, "mkl", "libmkl_rt is not there (--mkl)");
  if (find("MKL_Set_Interface_Layer", &set_layer)) set_layer(LP64);
#ifndef _OPENMP
  if (find("MKL_Set_Threading_Layer", &set_layer)) set_layer(SEQUENTIAL);
#endif
  const char *missing = find_all();
  if (!missing) return MACKO_OK;
  dlclose(mkl.library);
  mkl.library = NULL;
  return bench_fail(err, MACKO_UNSUPPORTED, "%s%s: the library lacks %s", library ? "--mkl " : "mkl", library ? library : "", missing);
}

/* The arrays of *a are used as they are. Only inspection is timed as preparation. */
macko_status bench_open_mkl(const char *library, int k, const macko_csr *a, bench_method *m, macko_error *err)
{
  *m = (bench_method){.run = run, .close = close_method, .peer = 1, .name = "mkl"};
  if ((a->value_type != MACKO_F64 && a->value_type != MACKO_F32) || a->row_ptr_type != MACKO_I32 || a->col_type != MACKO_I32)
    return bench_refuse(err, MACKO_UNSUPPORTED, m->name, "f64 and f32 with 32-bit indices only");
  macko_status s = bench_load_mkl(library, err);
  mkl_method *p = s ? NULL : calloc(1, sizeof *p);
  if (s) return s;
  if (!p) return bench_refuse(err, MACKO_OUT_OF_MEMORY, m->name, "no memory");
  m->own = p;
  p->type = a->value_type, p->rows = (int)a->nrows, p->columns = (int)a->ncols;
  /* oneMKL takes arrays that are not const, and does not change them; rows end where the next one begins, hence start + 1. */
  int *start = (int *)a->row_ptr, *cols = (int *)a->cols, rows = (int)a->nrows, columns = (int)a->ncols;
  int status = p->type == MACKO_F64 ? mkl.create_f64(&p->handle, BASE_ZERO, rows, columns, start, start + 1, cols,
                                                     (double *)a->values)
                                    : mkl.create_f32(&p->handle, BASE_ZERO, rows, columns, start, start + 1, cols,
                                                     (float *)a->values);
  double from = bench_now();
  /* A hint for several vectors may be refused, and products are right without it. */
  if (status == SUCCESS && k > 1) (void)mkl.hint_several(p->handle, NON_TRANSPOSE, general, COLUMN_MAJOR, k, MANY_CALLS);
  if (status == SUCCESS) status = mkl.hint(p->handle, NON_TRANSPOSE, general, MANY_CALLS);
  if (status == SUCCESS) status = mkl.optimize(p->handle);
  m->encode = bench_now() - from;
  m->bytes = 4 * (a->nrows + 1) + (int64_t)start[rows] * (4 + macko_type_bytes(p->type)); /* what it was given */
  return status == SUCCESS ? MACKO_OK : bench_refuse(err, MACKO_UNSUPPORTED, m->name, "the inspection fails");
}
