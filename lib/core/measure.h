/* The choice by measuring: the forms that may be the fastest are encoded and multiplied with, on the machine that asks. */
#ifndef MACKO_MEASURE_H
#define MACKO_MEASURE_H

#include "core/format.h"

/* How forms are tried where a matrix is, in host or GPU memory. A form is a set of options that leave no choice of format and
 * layout open. All functions get `context`, which has the form tried last and the one that is kept, none of either at first. */
typedef struct {
  void *context;
  /* Sets *time to the nanoseconds that a product in that form is predicted to take. Errors: those of planning, which say that the
   * form cannot be tried. */
  macko_status (*foresee)(void *context, const macko_options *form, double *time);
  /* Encodes that form, which becomes the one tried last; after a failure that one is given up. Errors: as macko_encode. */
  macko_status (*encode)(void *context, const macko_options *form, macko_error *err);
  /* Multiplies with the form tried last, once or, where that is short, several times, and sets *taken to the nanoseconds that the
   * shortest product took. Errors: those of products, and that there is no memory for vectors. */
  macko_status (*time_product)(void *context, double *taken, macko_error *err);
  /* Keeps the form tried last in the place of the one kept before; gives it up, if there is one; and gives the plan of the one that
   * is kept. */
  void (*keep)(void *context);
  void (*drop)(void *context);
  macko_plan *(*plan)(void *context);
} macko_trial;

/* Gives the type of the vectors to measure with: that in which products of such values are summed, which their users have as a
 * rule. Kernels differ by it. */
static inline macko_type macko_vectors_of(macko_type value_type)
{
  return value_type == MACKO_F64 ? MACKO_F64 : MACKO_F32;
}

/* Keeps the form that multiplies fastest, of those that have what *asked asks for, which has been settled, and are predicted to
 * take at most a few times as long as the best of them; some 20 products in all are timed, on a GPU short ones several
 * times over. The form is remembered for this machine, which `where` names without line breaks, pattern, type of values and set of
 * options (remember.c), and taken without measuring the next time. The reason says what was measured.
 * libmacko_cuda calls it, too. Errors: those of `encode` and `time_product`; a form may be kept then. */
macko_status macko_choose_measured(const macko_trial *trial, const char *where, uint64_t pattern, macko_type value_type,
                                   const macko_options *asked, macko_error *err);

/* Encodes *a, sorted and checked, in the form that multiplies fastest on the CPU that asks (macko_choose_measured). lent, others:
 * as for macko_encode_sorted. Errors: as macko_encode. */
macko_status macko_encode_measured(const macko_csr *a, const macko_options *options, int lent, double others,
                                   macko_matrix **matrix, macko_error *err);

/* Gives nanoseconds of a clock that nobody sets. */
double macko_now(void);

/* Does what macko_encode does once its arguments are checked and the choice is not by measuring: *a is sorted. lent: 1 if its
 * arrays outlive the matrix, which may use them as its own. others: as the matrix keeps it. Errors: as macko_encode. */
macko_status macko_encode_sorted(const macko_csr *a, const macko_options *options, int lent, double others,
                                 macko_matrix **matrix, macko_error *err);

/* Plans *a, sorted and checked: *m becomes a matrix without sections, with the plan that *options make of it. It owns no memory.
 * Errors: as macko_encode. */
macko_status macko_foresee(const macko_csr *a, const macko_options *options, double others, macko_matrix *m, macko_error *err);

/* ---- remember.c: lines of text in $XDG_CACHE_HOME/macko/measured, or in ~/.cache ---- */

/* Bytes of texts with the 0 at their end. */
enum { MACKO_KEY_LENGTH = 400, MACKO_WHERE_LENGTH = 160, MACKO_FORM_LENGTH = 64, MACKO_CHOICE_LENGTH = 400 };

/* Writes what stands for this processor in a key: its model as Linux names it, "processor" elsewhere. */
void macko_name_processor(char name[128]);

/* Gives 1 if a choice was kept under that key, the latest in *choice; keys hold no line breaks. */
int macko_recall(const char *key, char choice[MACKO_CHOICE_LENGTH]);

/* Gives 1 if the choice could be kept; where no file can be written nothing is lost but the time to measure again. */
int macko_remember(const char *key, const char *choice);

#endif
