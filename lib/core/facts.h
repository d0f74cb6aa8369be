/* What planning asks of a matrix: counts that depend on its entries. lib/ counts in host memory, libmacko_cuda in device memory;
 * what is chosen by them, and the words for it, come from the same code. */
#ifndef MACKO_FACTS_H
#define MACKO_FACTS_H

#include "core/format.h"

/* What is asked about the values, each by a pass over them; it is asked only where a choice depends on it. */
typedef struct {
  macko_type value_type;
  /* Sets *found to 1 if some value does not come back with the same bits once it is stored as type `to`. */
  macko_status (*misfit)(void *context, macko_type to, int *found, macko_error *err);
  /* Sets *count to the number of values that differ in their bits, or to -1 where they are more than `limit`, which is at most
   * MACKO_DICT_LIMIT. */
  macko_status (*distinct)(void *context, int64_t limit, int64_t *count, macko_error *err);
  void *context;
} macko_value_facts;

/* Each value of a csr at least once, and no others: values of its own, and entries first .. past - 1 of each range. It is one
 * allocation. */
typedef struct {
  macko_csr values; /* of one row, without columns */
  int64_t starts[2]; /* of that row */
  int64_t count, entries; /* how many ranges there are, and entries in all of them */
  struct {
    int64_t first, past;
  } ranges[];
} macko_fewer_values;

/* What is known of the values of a csr in host memory, so that several formats may ask and the values are looked at once. */
typedef struct {
  unsigned asked, misfits;  /* bit t: it is known whether a value misfits type t; and one does */
  int64_t limit, distinct;  /* how many differ, or -1: more than limit; limit 0: that is not known */
  macko_fewer_values *fewer; /* what to look at in place of all values; NULL: all are to be looked at */
} macko_known_values;

/* Lines of x that entries ask for and one core has in none of its own caches (lines.c): all, and those that stand alone, as the
 * line before was not asked for shortly before. Of the others a processor has foreseen most. `anywhere` is for several vectors, as
 * plans have it. */
typedef struct {
  double all, stray, anywhere;
} macko_lines;

/* What planning has found of a csr in host memory, for encoding to take over: one pointer a format, whose table says how it is
 * freed. */
struct macko_findings {
  const macko_csr *csr;
  struct macko_rows *rows; /* where rows come from if *csr has sizes and types only; NULL: *csr has its arrays */
  int handed_on; /* 1: encoding follows; 0: only the plan is wanted, and what takes memory is not kept */
  int lent; /* 1: the arrays of *csr outlive the matrix, which may use them as its own */
  double others; /* as macko_matrix has it */
  macko_known_values values; /* of all formats */
  macko_lines lines;
  double sectors; /* as the facts give them */
  int lines_known, sectors_known;
  void *own[MACKO_FORMAT_AUTO]; /* what each format has found; NULL: nothing */
};

/* Frees what format number i has found, if anything. */
void macko_forget(macko_findings *found, int i);

/* Everything that planning may ask of a matrix. The functions count where the matrix is, in host or GPU memory. */
struct macko_facts {
  const macko_csr *csr; /* sizes and types; the arrays may be out of the host's reach */
  int64_t nnz;
  double others; /* as macko_matrix has it */
  macko_value_facts values;
  /* Gives the sectors of x that entries ask for on a GPU (stretches.h), by a sample; 0 where that fails. NULL: that is not
   * known. */
  double (*sectors)(void *context);
  /* Gives the lines of x that entries ask for on a CPU, in the same way. */
  macko_lines (*lines)(void *context);
  void *context;
  const void *of_format[MACKO_FORMAT_AUTO]; /* what each format asks besides: a table of its own, whose functions take context */
};

/* Gives how many of these steps wait for a line of x, where that share of loads does so and that many go on together. */
double macko_steps_that_wait(double steps, double share, double together);

/* This is `lines` of the facts of a csr in host memory; they are counted once. */
macko_lines macko_host_lines(void *findings);

/* Give the facts of a csr in host memory, or of rows that come in pieces, checked and sorted, with *found as context, which must
 * stay; and those of its values alone, each of which is found once. */
macko_facts macko_host_facts(macko_findings *found);
macko_value_facts macko_facts_of_values(macko_findings *found);

/* Gives facts about the values of rows, each found by one pass over them whenever it is asked for; *r must stay. Errors of the
 * functions: OUT_OF_MEMORY, those of macko_get_rows. */
macko_value_facts macko_facts_of_rows(struct macko_rows *r);

/* Sets format, table and plan of m to what suits the options best, which have been settled. Errors: the last refusal where no
 * format can hold the matrix; those of facts. */
macko_status macko_choose(const macko_facts *f, const macko_options *options, macko_matrix *m, macko_error *err);

/* Adds to a plan what is the same in every form: what loads of x take, and the time of a product in format csr unless it has
 * that. */
void macko_complete_plan(const macko_facts *f, const macko_options *options, macko_plan *plan);

/* Makes a matrix with its plan and no sections, which the caller encodes or destroys. libmacko_cuda calls it for a csr in GPU
 * memory. Errors: as macko_encode; UNSUPPORTED for prefer measured, which goes by products. */
macko_status macko_plan_matrix(const macko_facts *f, const macko_options *options, macko_matrix **matrix, macko_error *err);

#endif
