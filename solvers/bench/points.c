/* Generated meshes: random points, the graph of those that are near each other, and their numbering. */
#include "bench/points.h"
#include "common/random.h"

#include <stdlib.h>
#include <string.h>

const char *const points_order_names[POINTS_ORDERS] = {"morton", "rcm", "brick", "shuffle"};

/* Coordinates count UNIT a cell. A ball of RADIUS, 1.5127 cells, holds 14.5 points besides its own. */
/* REACH: how many cells away a ball may reach; BRICK: cells of a brick each way */
enum { UNIT = 1 << 20, RADIUS = 1586181, REACH = 2, BRICK = 4 };

/* A point, in UNITs. */
typedef struct {
  int32_t at[3];
} point;

/* The number of the cell that a point is in, in a grid of `side` cells a side. */
static int64_t cell_of(const point *p, int64_t side)
{
  return p->at[0] / UNIT + side * (p->at[1] / UNIT + side * (p->at[2] / UNIT));
}

/* Draws point `number` anywhere in the cube, by its number alone, so that it can be drawn again instead of stored. */
static point point_of(int64_t number, int64_t side)
{
  uint64_t state = mix((uint64_t)number + 0x7e7a);
  point p;
  /* 32 random bits times the side, of which the upper half is kept: a number below the side. */
  for (int d = 0; d < 3; d++) p.at[d] = (int32_t)((draw(&state) >> 32) * (uint64_t)(side * UNIT) >> 32);
  return p;
}

/* Makes the points, sorted by their cells, and where those of each cell start. Points are drawn twice, to count and then to place
 * them. Both arrays are the caller's to free, also if 0 is returned for want of memory. */
static int scatter(int64_t side, point **points, int64_t **cells)
{
  const int64_t n = side * side * side;
  point *p = malloc((size_t)n * sizeof *p);
  int64_t *start = calloc((size_t)n + 2, sizeof *start);
  *points = p, *cells = start;
  if (!p || !start) return 0;
  for (int64_t i = 0; i < n; i++) {
    point q = point_of(i, side);
    start[cell_of(&q, side) + 2]++;
  }
  for (int64_t c = 0; c < n; c++) start[c + 2] += start[c + 1];
  for (int64_t i = 0; i < n; i++) {
    point q = point_of(i, side);
    p[start[cell_of(&q, side) + 1]++] = q;
  }
  return 1;
}

/* Whether two points are closer than RADIUS, in integers, which all machines compute alike. */
static int near(const point *p, const point *q)
{
  int64_t square = 0;
  for (int d = 0; d < 3; d++) square += (int64_t)(p->at[d] - q->at[d]) * (p->at[d] - q->at[d]);
  return square < (int64_t)RADIUS * RADIUS;
}

/* The first and the last cell along one axis that neighbours of a point may lie in. */
static int64_t from_of(int32_t at)
{
  return at / UNIT > REACH ? at / UNIT - REACH : 0;
}

/* Cells end where the cube does. */
static int64_t to_of(int32_t at, int64_t side)
{
  return at / UNIT + REACH < side ? at / UNIT + REACH : side - 1;
}

/* Finds the neighbours of point i, itself among them, in increasing order, and returns their number; they go into `to` unless
 * that is NULL. Cells along x follow each other, so that their points are one range. */
static int64_t find_near(const point *points, const int64_t *cells, int64_t side, int64_t i, int32_t *to)
{
  const point *p = points + i;
  int64_t count = 0;
  for (int64_t z = from_of(p->at[2]); z <= to_of(p->at[2], side); z++)
    for (int64_t y = from_of(p->at[1]); y <= to_of(p->at[1], side); y++) {
      int64_t line = side * (y + side * z), last = cells[line + to_of(p->at[0], side) + 1];
      for (int64_t j = cells[line + from_of(p->at[0])]; j < last; j++) {
        if (!near(p, points + j)) continue;
        if (to) to[count] = (int32_t)j;
        count++;
      }
    }
  return count;
}

/* Makes the graph in two passes, one that counts neighbours and one that stores them. Returns 0 without memory. */
static int couple(const point *points, const int64_t *cells, int64_t side, points_graph *g)
{
  g->start = calloc((size_t)g->nodes + 1, sizeof *g->start);
  for (int64_t i = 0; g->start && i < g->nodes; i++)
    g->start[i + 1] = g->start[i] + find_near(points, cells, side, i, NULL);
  g->to = g->start ? malloc((size_t)g->start[g->nodes] * sizeof *g->to) : NULL;
  for (int64_t i = 0; g->to && i < g->nodes; i++) find_near(points, cells, side, i, g->to + g->start[i]);
  return g->to != NULL;
}

/* ---- numberings: order[new] = old ---- */

/* A node and what it is sorted by. */
typedef struct {
  uint64_t key;
  int32_t node;
} keyed;

/* Compares two nodes by key for qsort; equal keys by node, so that the order is the same everywhere. */
static int compare_keys(const void *a, const void *b)
{
  const keyed *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

/* The bits of the three coordinates in turn, from the highest: sorted by it, points lie along Morton's curve. */
static uint64_t interleave(const point *p)
{
  uint64_t key = 0;
  for (int bit = 30; bit >= 10; bit--)
    for (int d = 2; d >= 0; d--) key = key << 1 | (uint64_t)(p->at[d] >> bit & 1);
  return key;
}

/* The key to sort a node by: its place on the curve, chance, or its brick and then chance. */
static uint64_t key_of(const point *p, int64_t node, int64_t side, points_order order)
{
  uint64_t chance = mix((uint64_t)node + 0xb71c), brick[3], bricks = (uint64_t)((side + BRICK - 1) / BRICK);
  if (order == POINTS_MORTON) return interleave(p);
  if (order == POINTS_SHUFFLE) return chance;
  for (int d = 0; d < 3; d++) brick[d] = (uint64_t)(p->at[d] / (BRICK * UNIT));
  return (brick[0] + bricks * (brick[1] + bricks * brick[2])) << 32 | chance >> 32;
}

/* Puts the nodes in the order of their keys into `to`. Returns 0 without memory. */
static int sort_points(const point *points, int64_t side, points_order order, const points_graph *g, int32_t *to)
{
  keyed *all = malloc((size_t)g->nodes * sizeof *all);
  if (!all) return 0;
  for (int64_t i = 0; i < g->nodes; i++) all[i] = (keyed){key_of(points + i, i, side, order), (int32_t)i};
  qsort(all, (size_t)g->nodes, sizeof *all, compare_keys);
  for (int64_t i = 0; i < g->nodes; i++) to[i] = all[i].node;
  free(all);
  return 1;
}

/* The number of a node's neighbours. */
static uint64_t degree_key(const points_graph *g, int32_t node)
{
  return (uint64_t)(g->start[node + 1] - g->start[node]);
}

/* Numbers by Cuthill and McKee: level by level from a corner, neighbours with few neighbours first; then backwards. Parts that
 * are not connected follow each other. Returns 0 without memory. */
static int reverse_levels(const points_graph *g, int32_t *to)
{
  enum { MOST = 1024 };
  keyed fresh[MOST];
  char *seen = calloc((size_t)g->nodes + 1, 1);
  int64_t end = 0, done = 0;
  for (int64_t first = 0; seen && first < g->nodes; first++) {
    if (!seen[first]) to[end++] = (int32_t)first, seen[first] = 1;
    for (; done < end; done++) {
      int count = 0;
      /* Nodes are marked when they are found, so that none is found twice. */
      for (int64_t q = g->start[to[done]]; q < g->start[to[done] + 1] && count < MOST; q++)
        if (!seen[g->to[q]]) seen[g->to[q]] = 1, fresh[count++] = (keyed){degree_key(g, g->to[q]), g->to[q]};
      qsort(fresh, (size_t)count, sizeof *fresh, compare_keys);
      for (int k = 0; k < count; k++) to[end++] = fresh[k].node;
    }
  }
  /* Turning the order round is what makes it the reverse one. */
  for (int64_t i = 0; seen && i < g->nodes / 2; i++) {
    int32_t other = to[g->nodes - 1 - i];
    to[g->nodes - 1 - i] = to[i], to[i] = other;
  }
  int there = seen != NULL;
  free(seen);
  return there;
}

/* Compares two int32_t for qsort. */
static int compare_nodes(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Makes *g the same graph with node order[i] as number i, neighbours sorted again. Returns 0 without memory; *g is unchanged
 * then. */
static int renumber(points_graph *g, const int32_t *order)
{
  points_graph to = {g->nodes, malloc((size_t)(g->nodes + 1) * sizeof *to.start),
                     malloc((size_t)g->start[g->nodes] * sizeof *to.to)};
  int32_t *number = malloc((size_t)g->nodes * sizeof *number);
  int there = to.start && to.to && number;
  if (there) to.start[0] = 0;
  for (int64_t i = 0; there && i < g->nodes; i++) number[order[i]] = (int32_t)i;
  for (int64_t i = 0; there && i < g->nodes; i++) {
    int64_t at = to.start[i], count = g->start[order[i] + 1] - g->start[order[i]];
    for (int64_t k = 0; k < count; k++) to.to[at + k] = number[g->to[g->start[order[i]] + k]];
    qsort(to.to + at, (size_t)count, sizeof *to.to, compare_nodes);
    to.start[i + 1] = at + count;
  }
  free(number);
  points_close(there ? g : &to);
  if (there) *g = to;
  return there;
}

/* The points are of no more use once they are coupled and numbered, so only the graph is kept. */
int points_open(int64_t side, points_order order, points_graph *g)
{
  point *points;
  int64_t *cells;
  *g = (points_graph){.nodes = side * side * side};
  int32_t *numbers = malloc((size_t)g->nodes * sizeof *numbers);
  int there = scatter(side, &points, &cells) && numbers && couple(points, cells, side, g);
  if (there) there = order == POINTS_RCM ? reverse_levels(g, numbers) : sort_points(points, side, order, g, numbers);
  if (there) there = renumber(g, numbers);
  free(points), free(cells), free(numbers);
  if (!there) points_close(g);
  return there;
}

/* May be called for an empty graph. */
void points_close(points_graph *g)
{
  free(g->start), free(g->to);
  *g = (points_graph){0};
}
