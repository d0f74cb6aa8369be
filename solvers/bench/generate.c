/* Matrices made from a name, for benchmarks: their patterns and values. */
#include "bench/generate.h"

#include "bench/bench.h"
#include "bench/request.h"
#include "common/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- growing arrays ---- */

/* A pattern that grows entry by entry. One of them is the matrix; another one holds the neighbours of the node at hand. */
typedef struct {
  int64_t nrows, ncols, nnz, room; /* room: of cols, in entries */
  int32_t *row_ptr, *cols;         /* of rows done so far; both go into the csr */
  double center;  /* value of the diagonal of a stencil; others are -1 */
  int failed; /* 1: no memory, or too many entries; what is there is of no use then */
} builder;

/* Appends an entry to the row at hand, or sets failed where there is no room for it; after that nothing is appended. */
static void add(builder *b, int64_t col)
{
  if (b->failed) return;
  if (b->nnz == b->room) {
    const int64_t room = 2 * b->room + 1024;
    /* A room that is too large is not asked for, since realloc would take the old one away. */
    int32_t *larger = room > (int64_t)INT32_MAX * 2 ? NULL : realloc(b->cols, (size_t)room * sizeof *larger);
    b->failed = !larger;
    if (b->failed) return;
    b->cols = larger, b->room = room;
  }
  b->cols[b->nnz++] = (int32_t)col;
}

/* ---- patterns ---- */

/* Adds the neighbours of a node of a grid of n points a side, and the node itself, in order. `wide` takes those across corners
 * too. */
static void stencil_row(builder *b, int64_t node, int64_t n, int dims, int wide)
{
  int64_t at[3] = {node % n, node / n % n, node / n / n};
  for (int dz = dims == 3 ? -1 : 0; dz <= (dims == 3); dz++)
    for (int dy = -1; dy <= 1; dy++)
      for (int dx = -1; dx <= 1; dx++) {
        if (!wide && (dx != 0) + (dy != 0) + (dz != 0) > 1) continue;
        if (at[0] + dx < 0 || at[0] + dx >= n || at[1] + dy < 0 || at[1] + dy >= n) continue;
        if (dims == 3 && (at[2] + dz < 0 || at[2] + dz >= n)) continue;
        add(b, node + dx + n * dy + n * n * dz);
      }
}

/* Compares two int32_t for qsort. */
static int compare_columns(const void *a, const void *b)
{
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Sorts the row that starts at entry start and drops its duplicates. */
static void sort_row(builder *b, int64_t start)
{
  int64_t to = start;
  if (b->nnz - start > 1) qsort(b->cols + start, (size_t)(b->nnz - start), sizeof *b->cols, compare_columns);
  for (int64_t p = start; p < b->nnz; p++)
    if (p == start || b->cols[p] != b->cols[p - 1]) b->cols[to++] = b->cols[p];
  b->nnz = to;
}

/* Adds r->b random columns: of erdos anywhere, of banded within 4 r->b of the diagonal. Every row has a generator of its own,
 * seeded by its number, so that it does not depend on the rows before. */
static void random_row(builder *b, const generate_request *r, int64_t i)
{
  uint64_t state = mix((uint64_t)i + 1);
  int64_t start = b->nnz, banded = !strcmp(r->kind, "banded"), width = 8 * r->b + 1;
  for (int64_t k = 0; k < r->b && !b->failed; k++) {
    int64_t col = banded ? i - 4 * r->b + (int64_t)(draw(&state) % (uint64_t)width) : (int64_t)(draw(&state) % (uint64_t)r->a);
    if (col >= 0 && col < b->ncols) add(b, col);
  }
  sort_row(b, start);
}

/* Keeps each column of row i by chance, all with the same probability. */
static void pruned_row(builder *b, const generate_request *r, int64_t i)
{
  uint64_t state = mix((uint64_t)i + 1);
  double kept = 1 - (double)r->option / 100;
  for (int64_t j = 0; j < b->ncols; j++)
    if (uniform(&state) < kept) add(b, j);
}

/* Keeps the columns of row i that score highest. */
static void scored_row(builder *b, generate_request *r, int64_t i)
{
  const double least = weights_row(&r->weights, i), *scores = r->weights.scores;
  int64_t equal = r->weights.kept; /* that are kept of those with the least score */
  for (int64_t j = 0; j < b->ncols; j++) equal -= scores[j] > least;
  for (int64_t j = 0; j < b->ncols; j++)
    if (scores[j] > least || (scores[j] == least && equal-- > 0)) add(b, j);
}

/* Keeps all but two columns of every 2N. The second one is drawn from those that the first one leaves, so that there are always
 * two. */
static void pattern_row(builder *b, const generate_request *r, int64_t i)
{
  uint64_t state = mix((uint64_t)i + 1);
  /* The last group may be cut off by the end of the row. */
  for (int64_t start = 0; start < b->ncols; start += 2 * r->option) {
    int64_t width = 2 * r->option, first = (int64_t)(draw(&state) % (uint64_t)width);
    int64_t second = (first + 1 + (int64_t)(draw(&state) % (uint64_t)(width - 1))) % width;
    for (int64_t j = 0; j < width && start + j < b->ncols; j++)
      if (j != first && j != second) add(b, start + j);
  }
}

/* ---- scattered points in the unit cells of a grid, numbered at random inside bricks of 4^3 cells as by a mesh generator ---- */

enum { BRICK = MESH_BRICK, CELLS = BRICK * BRICK * BRICK };

/* Returns an odd number for a brick. Numbers of its cells are multiples of it, shifted: a permutation of 64 that can be undone,
 * so that the numbering needs no table. */
static uint64_t brick_key(int64_t brick)
{
  return mix((uint64_t)brick + 0xb71c) | 1;
}

/* Returns the number of the node in the cell at that place of a grid of n cells a side: bricks one after another, and the
 * permutation inside. */
static int64_t node_at(const int64_t at[3], int64_t n)
{
  int64_t side = n / BRICK, brick = at[0] / BRICK + side * (at[1] / BRICK + side * (at[2] / BRICK));
  uint64_t local = (uint64_t)(at[0] % BRICK + BRICK * (at[1] % BRICK + BRICK * (at[2] % BRICK))), key = brick_key(brick);
  return brick * CELLS + (int64_t)((local * key + (key >> 32)) % CELLS);
}

/* Undoes node_at. The inverse of an odd number modulo 2^64 is found by Newton's method, which doubles the bits that are right
 * each time. */
static void cell_of(int64_t node, int64_t n, int64_t at[3])
{
  int64_t side = n / BRICK, brick = node / CELLS;
  uint64_t key = brick_key(brick), inverse = key, local;
  for (int i = 0; i < 5; i++) inverse *= 2 - key * inverse;
  local = ((uint64_t)(node % CELLS) - (key >> 32)) * inverse % CELLS;
  at[0] = brick % side * BRICK + (int64_t)local % BRICK;
  at[1] = brick / side % side * BRICK + (int64_t)local / BRICK % BRICK;
  at[2] = brick / side / side * BRICK + (int64_t)local / BRICK / BRICK;
}

/* Draws the point of a cell, by the cell's place alone: every row that looks at it finds the same point. */
static void point_in(const int64_t at[3], double point[3])
{
  uint64_t state = mix((uint64_t)(at[0] + (at[1] << 20) + (at[2] << 40)));
  for (int d = 0; d < 3; d++) point[d] = (double)at[d] + uniform(&state);
}

/* Adds the nodes closer than 1.5 cells to node i, itself among them. They lie at most two cells away, so 125 cells are looked
 * at. */
static void mesh_row(builder *b, int64_t i, int64_t n)
{
  const double radius = 1.5;
  int64_t start = b->nnz, here[3], at[3];
  double p[3], q[3];
  cell_of(i, n, here);
  point_in(here, p);
  for (at[2] = here[2] - 2; at[2] <= here[2] + 2; at[2]++)
    for (at[1] = here[1] - 2; at[1] <= here[1] + 2; at[1]++)
      for (at[0] = here[0] - 2; at[0] <= here[0] + 2; at[0]++) {
        if (at[0] < 0 || at[1] < 0 || at[2] < 0 || at[0] >= n || at[1] >= n || at[2] >= n) continue;
        point_in(at, q);
        double dx = q[0] - p[0], dy = q[1] - p[1], dz = q[2] - p[2];
        if (dx * dx + dy * dy + dz * dz < radius * radius) add(b, node_at(at, n));
      }
  sort_row(b, start);
}

/* Makes all rows of an R-MAT graph (a = 0.57, b = c = 0.19) at once, as an edge may begin anywhere: edges are drawn, counted by
 * row, and sorted row by row. */
static void rmat(builder *b, const generate_request *r)
{
  int64_t edges = b->nrows * 32;
  int32_t *from = malloc((size_t)edges * sizeof *from), *to = malloc((size_t)edges * sizeof *to);
  int64_t *start = calloc((size_t)b->nrows + 2, sizeof *start);
  b->cols = malloc((size_t)edges * sizeof *b->cols), b->room = edges;
  b->failed = !from || !to || !start || !b->cols;
  for (int64_t e = 0; !b->failed && e < edges; e++) {
    /* Every edge has a generator of its own, as every row has in other kinds. */
    uint64_t state = mix((uint64_t)e + 1);
    for (int64_t level = 0; level < r->a; level++) {
      double u = uniform(&state);
      /* Each level chooses a quarter of the matrix, with probabilities a, b, c and what is left, and appends a bit to row and
       * column. */
      from[e] = (level ? 2 * from[e] : 0) + (u >= 0.76);
      to[e] = (level ? 2 * to[e] : 0) + ((u >= 0.57 && u < 0.76) || u >= 0.95);
    }
    start[from[e] + 2]++;
  }
  for (int64_t i = 0; !b->failed && i < b->nrows; i++) start[i + 2] += start[i + 1];
  for (int64_t e = 0; !b->failed && e < edges; e++) b->cols[start[from[e] + 1]++] = to[e];
  for (int64_t i = 0; !b->failed && i < b->nrows; i++) {
    /* Placing the edges has moved every start to the end of its row. Rows shrink as duplicates go, so they move towards the
     * front. */
    int64_t end = start[i + 1], at = b->nnz;
    memmove(b->cols + at, b->cols + start[i], (size_t)(end - start[i]) * sizeof *b->cols);
    b->nnz = at + end - start[i];
    sort_row(b, at);
    b->row_ptr[i + 1] = (int32_t)b->nnz;
  }
  free(from), free(to), free(start);
}

/* Copies the neighbours of node i out of the graph, which has been made before. */
static void tetra_row(builder *b, const generate_request *r, int64_t i)
{
  for (int64_t q = r->graph.start[i]; q < r->graph.start[i + 1]; q++) add(b, r->graph.to[q]);
}

/* Adds row i, or the neighbours of node i, of any kind but rmat. */
static void add_row(builder *b, generate_request *r, int64_t i)
{
  if (!strcmp(r->kind, "5-point")) stencil_row(b, i, r->a, 2, 0);
  else if (!strcmp(r->kind, "9-point")) stencil_row(b, i, r->a, 2, 1);
  else if (!strcmp(r->kind, "7-point")) stencil_row(b, i, r->a, 3, 0);
  else if (!strcmp(r->kind, "27-point") || !strcmp(r->kind, "elasticity")) stencil_row(b, i, r->a, 3, 1);
  else if (!strcmp(r->kind, "mesh")) mesh_row(b, i, r->a);
  else if (!strcmp(r->kind, "tetra")) tetra_row(b, r, i);
  else if (r->by_columns) scored_row(b, r, i);
  else if (!strcmp(r->kind, "pruned")) pruned_row(b, r, i);
  else if (!strcmp(r->kind, "pattern")) pattern_row(b, r, i);
  else random_row(b, r, i);
}

/* ---- several unknowns a node ---- */

/* Says whether unknown d of node i is coupled with unknown e of node j. Chance goes by the smaller and the larger of row and
 * column, so that a coupling and its mirror are dropped together; the diagonal stays. */
static int is_coupled(const generate_request *r, int64_t i, int64_t j, int d, int e)
{
  int64_t row = i * r->unknowns + d, col = j * r->unknowns + e;
  if (r->mask == MASK_UPPER && d > e) return 0;
  if (r->mask == MASK_ARROW && d != e && d < r->unknowns - 1 && e < r->unknowns - 1) return 0;
  /* What is on the diagonal is never dropped: most methods need it. */
  if (!r->drop || row == col) return 1;
  uint64_t state = mix((uint64_t)(row < col ? row : col)) ^ (uint64_t)(row < col ? col : row);
  return uniform(&state) * 100 >= r->drop;
}

/* Adds the rows of node i, whose neighbours *nodes holds: a row for each unknown. Row pointers of 32 bits are the limit. */
static void add_unknowns(builder *b, const generate_request *r, int64_t i, const builder *nodes)
{
  for (int d = 0; d < r->unknowns; d++) {
    for (int64_t q = 0; q < nodes->nnz; q++)
      for (int e = 0; e < r->unknowns; e++)
        if (is_coupled(r, i, nodes->cols[q], d, e)) add(b, (int64_t)nodes->cols[q] * r->unknowns + e);
    /* After a failure row_ptr is not right, and is not used. */
    if (b->nnz >= INT32_MAX) b->failed = 1;
    b->row_ptr[i * r->unknowns + d + 1] = (int32_t)b->nnz;
  }
}

/* Adds all rows, node by node. A node's neighbours are made once for all of its unknowns. */
static void add_nodes(builder *b, generate_request *r)
{
  builder node = {.nrows = b->nrows / r->unknowns, .ncols = b->ncols / r->unknowns};
  for (int64_t i = 0; !b->failed && i < node.nrows; i++) {
    /* The room for a node's neighbours serves all nodes in turn. */
    node.nnz = 0;
    add_row(&node, r, i);
    b->failed |= node.failed;
    if (!b->failed) add_unknowns(b, r, i, &node);
  }
  free(node.cols);
}

/* ---- values ---- */

/* Returns the values, which the csr will own, or NULL without memory. Random ones are drawn row by row; others are those of the
 * stencil, or 1 where there is none. */
static void *make_values(const builder *b, const generate_request *r)
{
  void *values = malloc((size_t)b->nnz * (size_t)macko_type_bytes(r->type) + 8);
  for (int64_t i = 0; values && i < b->nrows; i++) {
    uint64_t state = mix((uint64_t)i + 0x5eed);
    for (int64_t p = b->row_ptr[i]; p < b->row_ptr[i + 1]; p++)
      /* The center of a stencil is not 0; of other kinds without random values all are ones. */
      bench_put(r->type, values, p, r->random ? uniform(&state) * 2 - 1 : !b->center ? 1 : b->cols[p] == i ? b->center : -1);
  }
  return values;
}

/* ---- the whole ---- */

/* Makes the pattern of the kind that was asked for. */
static void fill(builder *b, generate_request *r)
{
  if (!strcmp(r->kind, "rmat")) return rmat(b, r);
  if (!strcmp(r->kind, "tetra")) b->failed = !points_open(r->a, r->order, &r->graph);
  if (r->by_columns) b->failed = !weights_open(b->ncols, r->option, &r->weights);
  add_nodes(b, r);
  points_close(&r->graph), weights_close(&r->weights);
}

/* The number of rows is compared with 2^31 at each step, so that the power of a large size cannot overflow. */
macko_status generate_matrix(const char *spec, macko_csr *csr, macko_error *err)
{
  generate_request r;
  const generate_kind *k;
  macko_status s = generate_parse(spec, &r, &k, err);
  if (s) return s;
  builder b = {.center = k->points ? k->points - 1 : 0, .nrows = !strcmp(r.kind, "rmat") ? (int64_t)1 << r.a : r.a};
  for (int d = 1; d < k->dims && b.nrows < INT32_MAX; d++) b.nrows *= r.a;
  b.nrows = b.nrows < INT32_MAX ? b.nrows * r.unknowns : INT32_MAX;
  b.ncols = k->dense ? r.b : b.nrows;
  if (b.nrows >= INT32_MAX || b.ncols >= INT32_MAX)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: too big for 32-bit indices", spec);
  b.row_ptr = calloc((size_t)b.nrows + 1, sizeof *b.row_ptr);
  b.failed = !b.row_ptr;
  if (!b.failed) fill(&b, &r);
  void *values = b.failed ? NULL : make_values(&b, &r);
  if (!values) {
    free(b.row_ptr), free(b.cols);
    return bench_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory, or 2^31 nonzeros and more", spec);
  }
  *csr = (macko_csr){.nrows = b.nrows, .ncols = b.ncols, .row_ptr_type = MACKO_I32, .col_type = MACKO_I32, .value_type = r.type,
                     .row_ptr = b.row_ptr, .cols = b.cols, .values = values};
  return MACKO_OK;
}
