/* What is asked for in the name of a generated matrix. */
#ifndef REQUEST_H
#define REQUEST_H

#include "bench/points.h"
#include "bench/weights.h"
#include "macko.h"

enum { MESH_BRICK = 4 }; /* cells of a brick of a mesh, each way */

/* A kind of generated matrix. */
typedef struct {
  const char *name;
  int dims;             /* nodes are A^dims; 0: A alone */
  int points, random; /* entries of a row of a stencil with constant coefficients, else 0; 1: random values */
  int unknowns;         /* of a node unless told otherwise; 0: there is no telling */
  int most;             /* of A; 0: what indices allow */
  int dense;            /* weights of RxC, of which some were dropped */
} generate_kind;

/* What the name of a generated matrix asks for. */
typedef struct {
  char kind[32];
  int64_t a, b, option; /* SIZE as A or AxB; the number of pruned and pattern */
  int random;           /* 1: random values */
  macko_type type;      /* of the values */
  int unknowns, drop;   /* of a node; percent of couplings */
  enum { MASK_NONE, MASK_ARROW, MASK_UPPER } mask; /* which unknowns of two nodes are coupled */
  points_order order;   /* of tetra */
  points_graph graph;   /* of tetra; filled when the matrix is made, not by generate_parse */
  int by_columns;         /* 1: weights of pruned are kept by the norms of their columns, too */
  pruned_weights weights; /* filled like the graph */
} generate_request;

/* Takes spec apart, into *r and its kind, which *kind points to and nobody frees. Errors: INVALID_ARGUMENT. */
macko_status generate_parse(const char *spec, generate_request *r, const generate_kind **kind, macko_error *err);

#endif
