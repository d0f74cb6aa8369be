/* Which rows are cut, and where each piece starts. Walks the gaps of the cut rows once, so that no multiply has to. */
#include "macko/row_pieces.h"

#include "macko/row.h"

#include <stdlib.h>

/* Gives the number of pieces of a row whose entries are begin .. end - 1. Pieces end at multiples of MACKO_PIECE_ENTRIES, so
 * that all but the first and last are aligned. */
static int64_t pieces_of(int64_t begin, int64_t end)
{
  return (end - 1) / MACKO_PIECE_ENTRIES - begin / MACKO_PIECE_ENTRIES + 1;
}

/* Writes the pieces of row i to *piece and those behind it; answers the place after the last. It goes through the gaps of the
 * row, as a piece must know the column that it begins with. partial is the number of the first piece's sum. */
static macko_piece *cut_row(const macko_row_reader *r, int paper, int64_t i, int32_t partial, macko_piece *piece)
{
  int64_t end = macko_row_start(r, i + 1), col = paper ? -1 : macko_base_column(r, i) - 1; /* before the first entry's gap */
  uint32_t next_long = r->long_ptr ? r->long_ptr[i] : 0;
  for (int64_t first = macko_row_start(r, i), p = first; p < end; p++) {
    int starts = p == first || p % MACKO_PIECE_ENTRIES == 0;
    int64_t before = col;
    uint32_t code = macko_gap_code(r->gaps, r->b, p);
    if (!paper && p == first) col++;
    else if (!paper && code == (1u << r->b) - 1) col += r->long_gaps[next_long++];
    else col += code + 1;
    if (!starts) continue;
    int64_t stop = (p / MACKO_PIECE_ENTRIES + 1) * MACKO_PIECE_ENTRIES;
    *piece++ = (macko_piece){.begin = p, .row = i, .length = (int32_t)((stop < end ? stop : end) - p),
                             .col = (int32_t)(paper ? before : col - 1), .next_long = next_long, .partial = partial++};
  }
  return piece;
}

/* Gives the number of entries that the arrays hold, the padding of layout paper included. */
static int64_t stored_entries(const macko_matrix *m)
{
  return m->plan.layout == MACKO_LAYOUT_PAPER ? macko_params_of(&m->plan)->paper.stored : m->nnz;
}

/* Says how rows are taken that are not cut. */
static macko_row_lanes lanes_of(const macko_matrix *m)
{
  return macko_lanes_of_rows(m->nrows, stored_entries(m), macko_lane_entries(m->plan.stored_type));
}

int macko_has_long_rows(const macko_matrix *host)
{
  const macko_section *row_ptr = macko_find_section(host, "row_ptr");
  int64_t longest = lanes_of(host).longest, i = 0;
  for (int64_t before = 0, end; i < host->nrows; i++, before = end)
    if ((end = macko_index(row_ptr->type, row_ptr->data, i + 1)) - before > longest) return 1;
  return 0;
}

macko_status macko_cut_rows(const macko_matrix *host, macko_cut *cut, macko_error *err)
{
  int paper = host->plan.layout == MACKO_LAYOUT_PAPER;
  macko_row_reader r = macko_open_rows(host);
  *cut = (macko_cut){.uncut = lanes_of(host)};
  for (int64_t i = 0; i < host->nrows; i++)
    if (macko_row_start(&r, i + 1) - macko_row_start(&r, i) > cut->uncut.longest)
      cut->nrows++, cut->npieces += pieces_of(macko_row_start(&r, i), macko_row_start(&r, i + 1));
  if (cut->npieces > INT32_MAX)
    return macko_fail(err, MACKO_LIMIT, "%lld pieces of long rows, more than %d", (long long)cut->npieces, INT32_MAX);
  if (!cut->nrows) return MACKO_OK;
  cut->pieces = malloc((size_t)cut->npieces * sizeof *cut->pieces), cut->rows = malloc((size_t)cut->nrows * sizeof *cut->rows);
  if (!cut->pieces || !cut->rows)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld pieces of long rows", (long long)cut->npieces);
  macko_piece *piece = cut->pieces;
  macko_cut_row *row = cut->rows;
  for (int64_t i = 0; i < host->nrows; i++) {
    if (macko_row_start(&r, i + 1) - macko_row_start(&r, i) <= cut->uncut.longest) continue;
    int32_t first = (int32_t)(piece - cut->pieces);
    piece = cut_row(&r, paper, i, first, piece);
    *row++ = (macko_cut_row){i, first, (int32_t)(piece - cut->pieces) - first};
  }
  return MACKO_OK;
}
