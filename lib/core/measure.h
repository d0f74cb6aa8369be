/* The choice by measuring: the forms that may be the fastest are encoded and multiplied with, on the machine that asks. */
#ifndef MACKO_MEASURE_H
#define MACKO_MEASURE_H

#include "core/format.h"

/* Encodes *a, sorted and checked, in the form that multiplies fastest here, of those that have what *options ask for and are
 * predicted to take at most a few times as long as the best of them; some 20 products in all are timed. The form is remembered
 * for this processor, number of threads, pattern and set of options (remember.c), and taken without measuring the next time. The
 * reason says what was measured. Errors: as macko_encode. */
macko_status macko_encode_measured(const macko_csr *a, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* What macko_encode does once its arguments are checked and the choice is not by measuring: *a is sorted. */
macko_status macko_encode_sorted(const macko_csr *a, const macko_options *options, macko_matrix **matrix, macko_error *err);

/* *m becomes a matrix without sections, with the plan that *options make of *a. */
macko_status macko_foresee(const macko_csr *a, const macko_options *options, macko_matrix *m, macko_error *err);

/* ---- remember.c: lines of text in $XDG_CACHE_HOME/macko/measured, or in ~/.cache ---- */

enum { MACKO_KEY_LENGTH = 400, MACKO_FORM_LENGTH = 64, MACKO_CHOICE_LENGTH = 400 };

/* What stands for this processor. */
void macko_name_processor(char name[128]);

/* 1 if a choice was kept under that key, the latest in *choice; keys hold no line breaks. */
int macko_recall(const char *key, char choice[MACKO_CHOICE_LENGTH]);

/* 1 if the choice was kept: nothing is lost but time where no file can be written. */
int macko_remember(const char *key, const char *choice);

#endif
