/* Puts vectors side by side, and says when that is worth it. */
#include "core/beside.h"

#include <stdint.h>
#include <stdlib.h>

/* Elements of a group of vectors that are being put side by side. */
typedef struct {
  const macko_product *p;
  int columns; /* how many vectors there are */
  void *to;
} packing;

/* Does so with elements from .. to - 1 of one type, which is a constant. Any other vector stands in for one that is not there,
 * whose sums nobody reads. */
#define DEFINE_PACK(name, type) \
  static void name(void *context, int part, int64_t from, int64_t to) \
  { \
    const packing *c = context; \
    const type *x[MACKO_GROUP]; \
    type(*beside)[MACKO_GROUP] = c->to; \
    (void)part; \
    for (int j = 0; j < MACKO_GROUP; j++) x[j] = (const type *)c->p->x + (j < c->columns ? j : 0) * c->p->ldx; \
    for (int64_t i = from; i < to; i++) \
      for (int j = 0; j < MACKO_GROUP; j++) beside[i][j] = x[j][i]; \
  }
DEFINE_PACK(pack_doubles, double)
DEFINE_PACK(pack_floats, float)
#undef DEFINE_PACK

/* Of meshes in any order but a random one less than a twentieth of the entries ask for such lines, of shuffled ones a tenth (three
 * unknowns) to a half. */
int macko_waits_for_lines(const macko_matrix *m, const macko_product *p, int64_t vectors)
{
  return vectors > 1 && m->plan.anywhere > 0.08 && !macko_stays_in_middle(m->ncols, vectors, p->vector_type);
}

/* Says whether a group goes side by side. It takes more entries a column where they do not fit the second-level cache then, unless
 * entries would wait for lines (shuffled tetrahedra, four vectors in format csr 25 instead of 45 ms). */
static int goes_beside(const macko_matrix *m, const macko_product *p)
{
  enum { FEW_A_COLUMN = 4, MANY_A_COLUMN = 16 };
  const int64_t bytes = MACKO_GROUP * m->ncols * macko_type_bytes(p->vector_type);
  const int fits = bytes <= macko_machine_caches().middle || macko_waits_for_lines(m, p, MACKO_GROUP);
  return m->nnz >= (fits ? FEW_A_COLUMN : MANY_A_COLUMN) * m->ncols;
}

/* Multiplies vectors of *p side by side as far as they make groups, and gives how many have been done. */
static int64_t multiply_beside(const macko_matrix *m, const macko_product *p, int few, macko_pieces multiply, const macko_cut *cut)
{
  const macko_cut columns = {.n = m->ncols};
  enum { LINE = 64 };
  int64_t done = 0;
  /* aligned_alloc would get new pages from the system each time. */
  void *room = malloc((size_t)(MACKO_GROUP * m->ncols * macko_type_bytes(p->vector_type) + LINE));
  packing c = {.to = (void *)(((uintptr_t)room + LINE - 1) / LINE * LINE)};
  for (; room && p->k - done >= few; done += c.columns) {
    macko_product q = macko_product_from(p, done);
    c.p = &q, c.columns = p->k - done < MACKO_GROUP ? (int)(p->k - done) : MACKO_GROUP;
    macko_do_parts(&columns, macko_parts(m->nnz), p->vector_type == MACKO_F64 ? pack_doubles : pack_floats, &c);
    q.k = c.columns, q.beside = c.to;
    macko_share_product(m, &q, multiply, cut);
  }
  free(room);
  return done;
}

void macko_share_vectors(const macko_matrix *m, const macko_product *p, int few, macko_pieces multiply, const macko_cut *cut)
{
  const int64_t done = few > 0 && p->k >= few && goes_beside(m, p) ? multiply_beside(m, p, few, multiply, cut) : 0;
  const int64_t left = p->k - done, at_once = macko_waits_for_lines(m, p, left < MACKO_GROUP ? left : MACKO_GROUP) ? 1 : left;
  for (int64_t j = done; j < p->k; j += at_once) {
    macko_product rest = macko_product_from(p, j);
    rest.k = at_once;
    macko_share_product(m, &rest, multiply, cut);
  }
}
