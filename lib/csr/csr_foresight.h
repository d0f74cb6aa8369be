/* How a processor foresees the lengths of rows, for a look at a sample of them. */
#ifndef MACKO_CSR_FORESIGHT_H
#define MACKO_CSR_FORESIGHT_H

#include "csr/csr.h"
#include "csr/csr_shared.h"

/* This stands for the branch predictor of a processor: what came last behind the same four numbers of steps, which grids repeat,
 * or, where these are new, behind the last number. Numbers are kept modulo 256, plus 1; 0 is none. */
enum { CSR_FORESEEN = 4096 };
typedef struct {
  uint32_t history; /* the last four numbers, the last one in the low byte */
  uint32_t known[CSR_FORESEEN]; /* the history that an entry of `next` belongs to */
  uint16_t next[CSR_FORESEEN], behind[256];
} csr_foresight;

/* Gives 1 if that number of steps was not foreseen, and learns from it. */
static inline int csr_misses(csr_foresight *f, int64_t steps)
{
  const uint16_t number = (uint16_t)((steps & 255) + 1);
  const uint32_t place = f->history * 0x9e3779b1u >> 20;
  uint16_t *behind = &f->behind[f->history & 255];
  const uint16_t expected = f->next[place] && f->known[place] == f->history ? f->next[place] : *behind;
  f->known[place] = f->history, f->next[place] = *behind = number;
  f->history = f->history << 8 | (uint32_t)(steps & 255);
  return expected != number;
}

/* What is counted of rows that are looked at: how many there are, and how many are not foreseen, one entry a step, CSR_WIDTH, and
 * in blocks; and how many blocks there are, and how many take one number of steps; and how many groups of rows that share columns
 * are not foreseen, in their rows or in their steps. */
typedef struct {
  int64_t rows, missed, missed_wide, missed_in_blocks, blocks, one_number, missed_groups;
  csr_foresight f, f_wide, f_groups;
} csr_row_counts;

/* Counts rows from .. to - 1, which are at most CSR_BLOCK, as a block. A row whose number of steps is not foreseen ends its loop
 * where the processor did not expect it; of a block that takes one number steps in vain count as a quarter of that each. */
static inline void csr_count_rows(const macko_csr *a, int64_t from, int64_t to, int ahead, csr_row_counts *c)
{
  int64_t most = 0, all = 0, missed = 0, waste;
  for (int64_t i = from; i < to; i++) {
    const int64_t length = macko_csr_row(a, i + 1) - macko_csr_row(a, i), steps = (length + CSR_WIDTH - 1) / CSR_WIDTH;
    c->missed += csr_misses(&c->f, length), missed += csr_misses(&c->f_wide, steps);
    most = steps > most ? steps : most, all += steps;
  }
  const int one_number = to - from == CSR_BLOCK && macko_csr_one_number(most, all, ahead, &waste);
  c->rows += to - from, c->missed_wide += missed, c->missed_in_blocks += one_number ? waste / 4 : missed;
  c->blocks++, c->one_number += one_number;
}

/* Counts the groups of rows from .. to - 1; alike[i] tells whether row from + i has the columns of the next one. */
static inline void csr_count_groups(const macko_csr *a, int64_t from, int64_t to, const uint8_t *alike, csr_row_counts *c)
{
  for (int64_t i = from, past; i < to; i = past) {
    for (past = i + 1; past < to && alike[past - 1 - from];) past++;
    const int64_t steps = (macko_csr_row(a, i + 1) - macko_csr_row(a, i) + CSR_WIDTH - 1) / CSR_WIDTH;
    for (int64_t first = i, rows; first < past; first += rows) {
      rows = macko_csr_group(past - first);
      c->missed_groups += csr_misses(&c->f_groups, steps * (CSR_TOGETHER + 1) + rows);
    }
  }
}

#endif
