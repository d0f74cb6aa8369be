/* Random points in a cube and which of them are near each other, numbered in the orders that meshes come in. */
#ifndef POINTS_H
#define POINTS_H

#include <stdint.h>

typedef enum { POINTS_MORTON, POINTS_RCM, POINTS_BRICK, POINTS_SHUFFLE, POINTS_ORDERS } points_order;

/* The names of the orders: "morton", "rcm", "brick", "shuffle". */
extern const char *const points_order_names[POINTS_ORDERS];

/* A graph. Neighbours of node i, itself among them and sorted, are to[start[i]] .. to[start[i + 1] - 1]. */
typedef struct {
  int64_t nodes;
  int64_t *start;
  int32_t *to;
} points_graph;

enum { POINTS_MOST = 1290 }; /* the most cells of a side: nodes are below 2^31 */

/* Makes the graph of side^3 points, as many on average in a cell of side 1, coupled where less than 1.5127 apart. These are 14.5
 * neighbours away from the surface, 3.8 more or less, where the tetrahedra of a Delaunay mesh of such points have 15.5, 3.4 more
 * or less. Coordinates are integers, so that all machines agree who is near. Returns 0 without memory; the graph is empty then.
 * It is freed by points_close. */
int points_open(int64_t side, points_order order, points_graph *g);

/* Frees the graph, which is empty then. */
void points_close(points_graph *g);

#endif
