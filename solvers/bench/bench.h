/* Between the parts of macko-bench: what is measured, and the parts that measure. */
#ifndef BENCH_H
#define BENCH_H

#include "macko.h"

#include <stdio.h>

/* One way to multiply by one matrix. Times are medians of repeats; 0 where nothing was measured. */
typedef struct {
  char matrix[96], name[48], detail[512]; /* matrix; encoding or peer; reason of the choice, or more of the peer */
  char format[16], layout[16], values[16]; /* of ours, as they are stored; empty where there is none */
  int peer;                      /* 1: not ours, what ratios are taken against unless it is lossy */
  int lossy;                     /* 1: values are stored in fewer bits than were given, whether or not these hold them */
  int cached;                    /* 1: the matrix as CSR fits into the last-level cache */
  int64_t nrows, ncols, nnz, bytes; /* bytes of the matrix in that form */
  int64_t moved;                 /* bytes of matrix, all x once, all y once */
  int64_t k;                     /* vectors multiplied at once */
  double us, warm;               /* microseconds of a product of k vectors; on a GPU us is with caches emptied, warm without */
  double singles;                /* microseconds of k products of one vector each, where k is not 1 */
  double predicted;              /* microseconds that were predicted of a product of one vector, of ours, at this pace */
  double pace;                   /* as macko_measure_pace gives it, the median of all rounds; 0 on a GPU and of peers */
  double plan, encode, refresh; /* seconds; a peer's preparation counts as encode */
  double difference;             /* |y - A x| / |A x| in the 2-norm, NAN where that is none */
} bench_result;

/* All results, in the order in which they were measured: those of a matrix follow each other. */
typedef struct {
  bench_result *all; /* freed by the program with free */
  int count, room;   /* results that are there, and that all has room for */
  int wrong; /* products of ours that rounding does not explain: left out, as those of peers are */
} bench_table;

/* Fills *err with a sentence, which is a format of printf with what it takes, and returns status. */
macko_status bench_fail(macko_error *err, macko_status status, const char *sentence, ...)
    __attribute__((format(printf, 3, 4)));

/* Puts the names of what is stored into the columns that tables have for them; where there is no layout that name is empty. */
void bench_name_form(const macko_info *info, char format[16], char layout[16], char values[16]);

/* Returns the median of one time or more, and leaves them sorted. */
double bench_median(double *times, int count);

/* Returns a new last result of the table, of one vector and else zeroed, or NULL without memory. Earlier results may move. */
bench_result *bench_add(bench_table *table);

/* What is asked for, and what is known of the machine. */
typedef struct {
  int repeats;           /* measurements that a median is taken of */
  int vectors;           /* of a product: k */
  int solve;             /* iterations of --solve, 0 without */
  int on_gpu;            /* 1: --solve compares types that multiply on a GPU */
  int cpu_time;          /* 1: processor time of all threads instead of the wall's, for a CPU that others use too */
  const char *encodings; /* comma-separated, see bench_encoding */
  const char *mkl;       /* the library to load, or its folder; NULL: wherever the loader finds it */
  double copy, triad;    /* ceilings of the machine in bytes a second, filled in by the part that measures; triad 0 on a GPU */
  int64_t cache;         /* bytes of the last-level cache, 0 if unknown */
  char machine[384];     /* what it is, in words */
} bench_settings;

/* Sets *options to the encoding of that name for that target. The name is "auto", a format, a layout of format macko, what
 * automatic choice prefers ("memory", "measured") or "update" (automatic, with values as they are, so that new ones are copied),
 * with the value codec after a dot: "slice.raw", "auto.f32". Errors: INVALID_ARGUMENT, naming the nearest. */
macko_status bench_encoding(const char *name, macko_target target, macko_options *options, macko_error *err);

/* Makes the matrix of that name, with 32-bit indices: a file, a generated one (generate.h), or tile:MATRIX:MEGABYTES, which is
 * MATRIX repeated along the diagonal until its CSR form has that many megabytes (of 10^6 bytes) or more. The arrays are new and
 * freed with macko_free_csr. Errors: those of macko_read and generate_matrix; UNSUPPORTED or LIMIT where 32 bits are too few. */
macko_status bench_matrix(const char *name, macko_csr *a, macko_error *err);

/* Calls `use` for every matrix of the set of that name, or for the name itself if it is no set. */
void bench_expand(const char *name, void (*use)(void *context, const char *matrix), void *context);

/* Returns the size of blocks that suits *a (32-bit indices): the one of 2 to 8 whose blocks take the fewest bytes, judged by rows
 * spread over the matrix; 1 where blocks would take 1.4 times CSR's bytes or more, or where there is no memory to find out. */
int bench_block_size(const macko_csr *a);

/* Returns how many blocks of that size block row `row` has. seen, of ncols / block elements, is zeroed by the caller before the
 * first row and then handed on from row to row. */
int64_t bench_blocks_of_row(const macko_csr *a, int64_t block, int64_t row, int32_t *seen);

/* The sets and tile as help text. */
extern const char bench_matrix_help[];

/* Puts what tables call a matrix, its name without folders, into label, and returns label. */
const char *bench_label(const char *name, char *label, size_t room);

/* The vector type that goes with a matrix: its own values' type. */
#define BENCH_VECTOR(csr) ((csr)->value_type)

/* Measures all forms of a matrix on the current GPU and adds rows to *table. What cannot be measured is left out with a sentence
 * on stderr. Errors: those of the library and of CUDA. */
macko_status bench_gpu(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);

/* Fills settings->copy and settings->machine. Errors: UNSUPPORTED without a GPU. */
macko_status bench_gpu_open(bench_settings *settings, macko_error *err);

/* Do the same on the CPU; bench_cpu_open also fills triad and cache, and bench_cpu_close ends PETSc where it was started. */
macko_status bench_cpu(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);
macko_status bench_cpu_open(bench_settings *settings, macko_error *err);
void bench_cpu_close(void);

/* Loads oneMKL from what --mkl names, or with NULL from where the loader finds it. Errors: UNSUPPORTED. */
macko_status bench_load_mkl(const char *library, macko_error *err);

/* Prints what settings->solve iterations of a PETSc solver take on types aij and aijmacko, and what encoding takes: medians of
 * settings->repeats solves. It adds no rows to *table. Errors: UNSUPPORTED, OUT_OF_MEMORY. */
macko_status bench_solve(const char *name, const macko_csr *csr, bench_settings *settings, bench_table *table, macko_error *err);

/* ---- check.c: vectors, and products compared element by element ---- */

/* Get and set element i of a vector of type f64, f32, f16 or bf16; a value is rounded to that type. */
double bench_get(macko_type type, const void *v, int64_t i);
void bench_put(macko_type type, void *v, int64_t i, double value);

/* Fills v with n random elements in [-1, 1), the same in every run. */
void bench_fill(macko_type type, void *v, int64_t n);

/* Fills v with k vectors of n elements, one after the other, each of them the first one times a power of two. */
void bench_fill_vectors(macko_type type, void *v, int64_t n, int64_t k);

/* Returns what rounding to a type may change a number by, as a share of it. */
double bench_unit(macko_type type);

/* The right product A x, which others are compared with. */
typedef struct {
  macko_type type;        /* of x and y */
  int64_t nrows;
  const int32_t *row_ptr; /* the matrix's */
  long double *sum;       /* A x */
  double *size;           /* |A||x|, by which errors of each element are judged */
} bench_reference;

/* Computes *r for a matrix with 32-bit indices, which must outlive it. Errors: OUT_OF_MEMORY; *r is empty then. */
macko_status bench_reference_open(const macko_csr *a, macko_type type, const void *x, bench_reference *r, macko_error *err);
void bench_reference_close(bench_reference *r);

/* Says whether every |y_i - (A x)_i| is at most gamma(nnz_i + 3) (|A||x|)_i. The u in gamma is that of the sums, which are in f64
 * for vectors of f64 and in f32 for others; the rounding of y is added, and `rounding`, which is what values of the form at hand
 * may be off by, as a share of each. *difference is as in bench_result. Errors: CORRUPT, naming the worst row. */
macko_status bench_check(const bench_reference *r, const void *y, double rounding, double *difference, macko_error *err);

/* Does so for the products of k vectors of bench_fill_vectors, which follow each other in y and are divided by their factors;
 * *difference is the largest of them. */
macko_status bench_check_vectors(const bench_reference *r, void *y, int64_t k, double rounding, double *difference,
                                 macko_error *err);

/* ---- report.c: what follows from the results. NAN where something is missing ---- */

double bench_time(const bench_result *r); /* microseconds that ratios are taken of: with caches emptied where that was measured */
/* Returns the least that `of` gives for the peers that keep all of the values of r's matrix and have as many vectors. Dense ones
 * are among them only if asked for. */
double bench_best_peer(const bench_table *table, const bench_result *r, double (*of)(const bench_result *), int dense);
double bench_bytes(const bench_result *r); /* bytes of the matrix, for bench_best_peer */

/* These are columns of the table. For one result they give bytes a nonzero; 10^9 bytes moved a second, and that in percent of the
 * ceilings; the best peer's time and that of k products of one vector over this one's; and plan, encode and refresh in multiplies
 * of plain CSR. */
double bench_bytes_per_nonzero(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_rate(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_percent_of_copy(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_percent_of_triad(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_x_best_peer(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_x_singles(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_plan_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_encode_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r);
double bench_refresh_multiplies(const bench_table *table, const bench_settings *settings, const bench_result *r);

/* Prints rows from number `from` on as aligned columns for people; the names of columns come before row 0. */
void bench_print(FILE *f, const bench_table *table, const bench_settings *settings, int from);

/* Prints, for each of our forms, the geometric mean of x peer and the least, where two or more matrices exceed the last-level
 * cache. */
void bench_print_means(FILE *f, const bench_table *table, const bench_settings *settings);

/* ---- files.c ---- */

/* Prints one line, marked as a comment: machine, ceilings, cache, repeats. */
void bench_print_heading(FILE *f, const bench_settings *settings);

/* Print rows from number `from` on as tab-separated values, or headings and all rows where that is negative; and all rows as
 * JSON. */
void bench_print_tsv(FILE *f, const bench_table *table, const bench_settings *settings, int from);
void bench_print_json(FILE *f, const bench_table *table, const bench_settings *settings);

/* Appends the rows of a file that bench_print_tsv wrote; settings get the machine of the first such file. Errors: IO, PARSE (with
 * file and line), OUT_OF_MEMORY. */
macko_status bench_read_tsv(const char *path, bench_table *table, bench_settings *settings, macko_error *err);

/* ---- plot.c ---- */

/* Draws PREFIX-size, PREFIX-time and, of pruned matrices beside cuBLAS, PREFIX-sparsity, each as .svg and .png, through gnuplot
 * and PREFIX.gnuplot, which is left there. Without gnuplot a sentence on stderr says how to draw later: no error.
 * Errors: IO (gnuplot's failure too), INVALID_ARGUMENT (nothing to draw). */
macko_status bench_plot(const char *prefix, const bench_table *table, macko_error *err);

/* Runs gnuplot on a script. Without gnuplot a sentence on stderr says how to draw later: no error. Errors: IO. */
macko_status bench_run_gnuplot(char *script, macko_error *err);

/* ---- matmul_plot.c ---- */

/* Says whether a file is a table that --matmul wrote. */
int bench_is_matmul_table(const char *path);

/* Return 1, with a sentence, if what `option` names as a file to write is one of `count` inputs, or holds a matrix, which would be
 * lost. */
int bench_is_input(const char *option, const char *path, const char *const inputs[], int count);
int bench_is_matrix(const char *option, const char *path);

/* Draws such a table, speed-up over the dense product against shape and pattern, a panel for each type: PREFIX-matmul as .svg and
 * .png, through PREFIX-matmul.gnuplot, likewise. Errors: IO, PARSE (with file and line), INVALID_ARGUMENT (nothing to draw),
 * OUT_OF_MEMORY. */
macko_status bench_plot_matmul(const char *prefix, const char *path, macko_error *err);

#endif
