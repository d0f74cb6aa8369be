/* How a processor foresees the lengths of rows, for a look at a sample of them. */
#ifndef MACKO_CSR_FORESIGHT_H
#define MACKO_CSR_FORESIGHT_H

#include <stdint.h>

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

#endif
