/* Random points in a cube and which of them are near each other, numbered in the orders that meshes come in. */
#ifndef POINTS_H
#define POINTS_H

#include <stdint.h>

typedef enum { POINTS_MORTON, POINTS_RCM, POINTS_BRICK, POINTS_SHUFFLE, POINTS_ORDERS } points_order;

/* "morton", "rcm", "brick", "shuffle". */
extern const char *const points_order_names[POINTS_ORDERS];

/* Neighbours of node i, itself among them, sorted: to[start[i]] .. to[start[i + 1] - 1]. */
typedef struct {
  int64_t nodes;
  int64_t *start;
  int32_t *to;
} points_graph;

enum { POINTS_MOST = 1290 }; /* a side: nodes are below 2^31 */

/* side^3 points, as many on average in a cell of side 1, coupled where less than 1.5127 apart, which are 14.5 neighbours away from
 * the surface: 3.8 more or less, where the tetrahedra of a Delaunay mesh of such points have 15.5, 3.4 more or less. Coordinates
 * are integers, so that all machines agree who is near. 0 without memory; the graph is empty then. */
int points_open(int64_t side, points_order order, points_graph *g);

void points_close(points_graph *g);

#endif
