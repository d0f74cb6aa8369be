/* Matrices made from a name, for benchmarks. */
#ifndef GENERATE_H
#define GENERATE_H

#include "macko.h"

/* Makes the matrix that spec names: KIND:SIZE[:OPTION]... The arrays of *csr are new and freed with macko_free_csr.
 *   5-point:N 9-point:N          grid of N x N, Dirichlet boundary, constant coefficients
 *   7-point:N 27-point:N         grid of N x N x N
 *   elasticity:N                 27-point grid of N x N x N nodes with blocks of 3 x 3, random values
 *   banded:NxW                   N rows, W random columns each within 4 W of the diagonal, random values
 *   rmat:S                       power-law graph of 2^S nodes, 32 edges a node before duplicates go, values 1
 *   erdos:NxD                    N rows of D random columns, random values
 *   mesh:N                       N^3 points, one in each cell of a grid (N a multiple of 4), coupled where closer than 1.5 cells
 *                                (15 on average, 5 to 30), numbered at random inside bricks of 4^3 cells; random values
 *   tetra:N                      N^3 random points, coupled like the corners of tetrahedra (points.h); random values. Options:
 *                                morton (usual), rcm, brick, shuffle: how they are numbered
 *   pruned:RxC:P                 R x C dense weights of which P percent were dropped at random, f16; with option columns each
 *                                row drops those of the least size times the norm of their column (weights.h)
 *   pattern:RxC:N                R x C with 2N-2 of every 2N columns kept at random, f16
 * Options are random (random values) and f64, f32, f16, bf16 (the type of the values). All kinds but rmat, pruned and pattern
 * also take a number, which is the unknowns a node. Each unknown is coupled with all those of the node's neighbours but for
 * what these options leave out: arrow keeps the diagonal, last row and last column of each block, upper keeps what is on and
 * right of its diagonal, and dropP drops P percent at random, with their mirrors. The same spec gives the same matrix
 * everywhere. Errors: INVALID_ARGUMENT (what is not understood), OUT_OF_MEMORY. */
macko_status generate_matrix(const char *spec, macko_csr *csr, macko_error *err);

extern const char generate_help[]; /* the list above as help text */

#endif
