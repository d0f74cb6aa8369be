/* The choice by measuring: the forms that may be the fastest are encoded and multiplied with, on the machine that asks. */
#ifndef MACKO_MEASURE_H
#define MACKO_MEASURE_H

#include "core/format.h"

/* Encodes *a, sorted and checked, in the form that multiplies fastest here, of those that have what *options ask for and are
 * predicted to take at most a few times as long as the best of them; some 20 products in all are timed. The form is remembered
 * for this processor, number of threads, pattern and set of options (remember.c), and taken without measuring the next time. The
 * reason says what was measured. lent: as for macko_encode_sorted. Errors: as macko_encode. */
macko_status macko_encode_measured(const macko_csr *a, const macko_options *options, int lent, macko_matrix **matrix,
                                   macko_error *err);

/* Does what macko_encode does once its arguments are checked and the choice is not by measuring: *a is sorted. lent: 1 if its
 * arrays outlive the matrix, which may use them as its own. Errors: as macko_encode. */
macko_status macko_encode_sorted(const macko_csr *a, const macko_options *options, int lent, macko_matrix **matrix,
                                 macko_error *err);

/* Plans *a, sorted and checked: *m becomes a matrix without sections, with the plan that *options make of it. It owns no memory.
 * Errors: as macko_encode. */
macko_status macko_foresee(const macko_csr *a, const macko_options *options, macko_matrix *m, macko_error *err);

/* ---- remember.c: lines of text in $XDG_CACHE_HOME/macko/measured, or in ~/.cache ---- */

/* Bytes of texts with the 0 at their end. */
enum { MACKO_KEY_LENGTH = 400, MACKO_FORM_LENGTH = 64, MACKO_CHOICE_LENGTH = 400 };

/* Writes what stands for this processor in a key: its model as Linux names it, "processor" elsewhere. */
void macko_name_processor(char name[128]);

/* Gives 1 if a choice was kept under that key, the latest in *choice; keys hold no line breaks. */
int macko_recall(const char *key, char choice[MACKO_CHOICE_LENGTH]);

/* Gives 1 if the choice could be kept; where no file can be written nothing is lost but the time to measure again. */
int macko_remember(const char *key, const char *choice);

#endif
