/* Work shared among threads, where the compiler has OpenMP (--without-openmp: not): items (rows, slices, entries) are cut into
 * parts that follow each other, each of which one thread does. What is stored or multiplied has the same bits with any number of
 * parts: a row's sum is made by one thread and in one order, and what depends on parts before is put together in their order. */
#ifndef MACKO_THREADS_H
#define MACKO_THREADS_H

#include "core/format.h"
#include "core/traps.h"

#ifdef _OPENMP
#include <omp.h>
#include <stdlib.h>
#include <unistd.h>
#endif

/* How many entries work must have for threads to be started: with fewer that takes longer than the work. test/lib/parts.h has
 * threads for fewer. */
#ifndef MACKO_THREADS_NNZ
#define MACKO_THREADS_NNZ (1 << 16)
#endif

enum { MACKO_MOST_PARTS = 256 }; /* so that an array of a number for each part fits on the stack */

/* Items 0 .. n - 1 that are to be cut into parts. With starts they are cut so that each part has about as much of `total`: item i
 * begins at starts[i * stride], of element type `type`, counted in bytes, entries or what else is proportional to the work;
 * starts do not fall and do not pass `total`. Without starts items are alike, and each part has as many. */
typedef struct macko_cut {
  int64_t n;
  macko_type type;
  const void *starts;
  int64_t stride, total;
} macko_cut;

/* Gives a cut of the rows of a csr by their entries, `rows` of them an item. */
static inline macko_cut macko_cut_rows(const macko_csr *a, int64_t rows)
{
  return (macko_cut){(a->nrows + rows - 1) / rows, a->row_ptr_type, a->row_ptr, rows, macko_csr_nnz(a)};
}

/* Gives the first item of part number `part` of `parts`, found by bisection; n for part number `parts`. */
static inline int64_t macko_first_of_part(const macko_cut *cut, int part, int parts)
{
  int64_t low = 0, high = cut->n, wanted = (int64_t)((double)cut->total * part / parts);
  if (part == 0 || part == parts) return part ? cut->n : 0;
  if (!cut->starts) return (int64_t)((double)cut->n * part / parts);
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    int64_t start = cut->type == MACKO_U32 ? (int64_t)((const uint32_t *)cut->starts)[middle * cut->stride]
                                           : macko_index(cut->type, cut->starts, middle * cut->stride);
    if (start < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* A function that does items from .. to - 1, which may be none, as part number `part`. It runs in a thread of its own and must
 * not write what another part writes. */
typedef void (*macko_part)(void *context, int part, int64_t from, int64_t to);

#ifdef MACKO_TEST_PARTS
/* A test without OpenMP sets the number of parts and runs them in threads of its own. */
extern int macko_test_parts;
void macko_test_do_parts(const macko_cut *cut, int parts, macko_part run, void *context);
#endif

#ifdef _OPENMP
/* The process that OpenMP has started threads for, or 0. It is one variable of all files that include this. */
__attribute__((weak)) int macko_threads_owner;

/* Whether threads can be started: not in a process forked from one that has them, where OpenMP would wait for ever for threads
 * that are only there. */
static inline int macko_may_start_threads(void)
{
  const int process = (int)getpid();
  int none = 0;
  return __atomic_compare_exchange_n(&macko_threads_owner, &none, process, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
         none == process;
}

/* Gives the number of threads: one where OMP_NUM_THREADS says nothing, or no number of threads. OpenMP would take all cores then,
 * which the ranks of a program have among them. The environment is read once. */
static inline int macko_threads(void)
{
  static int asked = -1;
  int known = __atomic_load_n(&asked, __ATOMIC_RELAXED);
  if (known < 0) {
    const char *text = getenv("OMP_NUM_THREADS");
    known = text && strtol(text, NULL, 10) >= 1;
    __atomic_store_n(&asked, known, __ATOMIC_RELAXED);
  }
  return known ? omp_get_max_threads() : 1;
}
#endif

/* Gives the number of parts into which work on so many entries is cut, 1 .. MACKO_MOST_PARTS. */
static inline int macko_parts(int64_t entries)
{
#ifdef MACKO_TEST_PARTS
  int threads = macko_test_parts;
#elif defined _OPENMP
  int threads = macko_threads();
#else
  int threads = 1;
#endif
  return entries < MACKO_THREADS_NNZ ? 1 : threads < MACKO_MOST_PARTS ? threads : MACKO_MOST_PARTS;
}

/* Gives a smaller number for work of which every part needs memory of its own, so that small matrices do not pay for many
 * tables. */
static inline int macko_large_parts(int64_t entries)
{
  int64_t most = entries / MACKO_THREADS_NNZ / 16;
  int parts = macko_parts(entries);
  return most < 1 ? 1 : most < parts ? (int)most : parts;
}

/* Runs one part. Threads have traps of their own. */
static inline void macko_do_part(const macko_cut *cut, int part, int parts, macko_part run, void *context)
{
  fenv_t kept;
  macko_hold_traps(&kept);
  run(context, part, macko_first_of_part(cut, part, parts), macko_first_of_part(cut, part + 1, parts));
  macko_restore_traps(&kept);
}

/* Runs all parts and returns when all are done. Part number i is always items of the same numbers, however many threads OpenMP
 * gives. */
static inline void macko_do_parts(const macko_cut *cut, int parts, macko_part run, void *context)
{
  if (parts == 1) {
    run(context, 0, 0, cut->n);
    return;
  }
#ifdef MACKO_TEST_PARTS
  macko_test_do_parts(cut, parts, run, context);
#else
#ifdef _OPENMP
#pragma omp parallel for schedule(static, 1) num_threads(parts) if (macko_may_start_threads())
#endif
  for (int part = 0; part < parts; part++) macko_do_part(cut, part, parts, run, context);
#endif
}

/* A flag by which a part tells the others something, such as that they may stop. They may hear it late, so nothing that is stored
 * may depend on when they do. */
static inline int macko_is_set(const int *flag)
{
  return __atomic_load_n(flag, __ATOMIC_RELAXED);
}

static inline void macko_set(int *flag)
{
  __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
}

/* ---- multiplying ---- */

/* Multiplies items from .. to - 1 of a matrix, rows or slices: of op N it writes the elements of y that belong to them and no
 * others. */
typedef void (*macko_pieces)(const macko_matrix *m, const macko_product *p, int64_t from, int64_t to);

/* The context of a product that is shared among threads. */
typedef struct {
  const macko_matrix *m;
  const macko_product *p;
  macko_pieces multiply;
} macko_shared_product;

/* This is the macko_part of such a product. */
static inline void macko_multiply_part(void *context, int part, int64_t from, int64_t to)
{
  const macko_shared_product *s = context;
  (void)part;
  s->multiply(s->m, s->p, from, to);
}

/* Runs multiply over the items of the cut. Op T is done in one part, because its threads would write to the same elements of
 * y. */
static inline void macko_share_product(const macko_matrix *m, const macko_product *p, macko_pieces multiply, const macko_cut *cut)
{
  macko_shared_product s = {m, p, multiply};
  macko_do_parts(cut, p->op == MACKO_OP_N ? macko_parts(m->nnz) : 1, macko_multiply_part, &s);
}

#endif
