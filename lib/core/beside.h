/* Several vectors on a CPU: how many are multiplied at once, and vectors side by side. */
#ifndef MACKO_BESIDE_H
#define MACKO_BESIDE_H

#include "core/cost.h"
#include "core/cpu.h"
#include "core/product.h"
#include "core/threads.h"

/* Says whether so many vectors of n elements of x stay in the second-level cache, beside what passes by. */
static inline int macko_stays_in_middle(int64_t n, int64_t vectors, macko_type type)
{
  return 2 * vectors * n * macko_type_bytes(type) <= macko_machine_caches().middle;
}

/* Elements of x that a group of vectors has in one column, whatever their type. */
typedef double macko_group __attribute__((vector_size(8 * MACKO_GROUP)));

/* Loads those in column col of vectors that lie side by side; `vector` is a constant. */
static inline __attribute__((always_inline)) void macko_load_beside(macko_type vector, const void *beside, int64_t col,
                                                                    macko_group *to)
{
  typedef float floats __attribute__((vector_size(4 * MACKO_GROUP), may_alias));
  if (vector == MACKO_F64) *to = ((const macko_group *)beside)[col];
  else *to = __builtin_convertvector(((const floats *)beside)[col], macko_group);
}

/* Says whether entries would wait for lines of each of so many vectors of *p at once: these do not stay in the second-level cache,
 * and by the plan columns lie anywhere. */
int macko_waits_for_lines(const macko_matrix *m, const macko_product *p, int64_t vectors);

/* Multiplies all vectors of *p, op N, by multiply, over the items of the cut. Vectors go side by side in groups of at least `few`
 * (MACKO_GROUP or one less) as far as that pays, and multiply finds them in p->beside: where an element of each is asked for, one
 * load gets all. It pays for some entries a column, as putting them there reads and writes each element once. few = 0 is for
 * formats and matrices that never do so. The others follow, at once where they stay in the second-level cache or entries share
 * lines of x, else one by one: there each of them would wait for a line of every vector. Without memory for it nothing goes side by
 * side, as nothing depends on it but time. */
void macko_share_vectors(const macko_matrix *m, const macko_product *p, int few, macko_pieces multiply, const macko_cut *cut);

#endif
