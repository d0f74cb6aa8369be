/* Rows of doubles written column by column, as slices keep them, and memory that is fetched meanwhile. */
#ifndef MACKO_ECCSR_TURN_H
#define MACKO_ECCSR_TURN_H

#include "eccsr/eccsr_layout.h"

enum {
  MACKO_ECCSR_AHEAD_BYTES = 65536, /* most that is fetched ahead: longer rows are streams that processors follow by themselves */
  MACKO_ECCSR_LINE = 64            /* bytes that come with one fetch */
};

/* Memory that will be read soon, as stretches: at most one a row. It is fetched a few lines at a time between other work, because
 * reads that are asked for all at once, or row by row when they are needed, keep memory idle while values are written: refresh
 * took 1.3 to 1.7 times as long so (Zen 4). */
typedef struct {
  const char *from[MACKO_ECCSR_LANES], *past[MACKO_ECCSR_LANES];
  int count, next;
  int64_t room; /* bytes that may still be added */
} macko_eccsr_ahead;

/* Forgets what has not been fetched. */
static inline void macko_eccsr_start_ahead(macko_eccsr_ahead *a)
{
  a->count = a->next = 0;
  a->room = MACKO_ECCSR_AHEAD_BYTES;
}

/* Adds so many bytes, those of a row, or as many as there is room for. */
static inline void macko_eccsr_add_ahead(macko_eccsr_ahead *a, const void *from, int64_t bytes)
{
  const char *begin = from;
  if (bytes > a->room) bytes = a->room;
  a->room -= bytes;
  if (a->count && a->past[a->count - 1] == begin) a->past[a->count - 1] += bytes;
  else if (bytes > 0) a->from[a->count] = begin, a->past[a->count++] = begin + bytes;
}

/* Fetches the lines of the next bytes, so many of them, into the second-level cache. */
static inline void macko_eccsr_fetch(macko_eccsr_ahead *a, int64_t bytes)
{
  for (; a->next < a->count; a->next++) {
    const char *at = a->from[a->next], *past = a->past[a->next];
    for (; bytes > 0 && at < past; at += MACKO_ECCSR_LINE, bytes -= MACKO_ECCSR_LINE) __builtin_prefetch(at, 0, 2);
    a->from[a->next] = at;
    if (at < past) return;
  }
}

/* Writes `count` columns of `lanes` rows, at most MACKO_ECCSR_LANES: column after column, the values of a column beside each
 * other. Lane l has its values at from[l], `done` values further on. With past_caches they are stored past the caches, so that
 * the old bytes are not read first; who asks for that orders such stores with those of others by macko_eccsr_order_stores. As
 * many lines are fetched ahead as are written. */
void macko_eccsr_turn(const double *const *from, int lanes, int64_t done, int64_t count, double *to, int past_caches,
                      macko_eccsr_ahead *ahead);

/* Orders stores past the caches before all later ones. */
void macko_eccsr_order_stores(void);
#endif
