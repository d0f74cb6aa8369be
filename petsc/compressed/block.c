/* Rows of one rank as pieces that are encoded, multiplied and decoded one after another, so that never more than one is there as
 * CSR. */
#include "compressed/compressed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Writes the sentence "no memory for COUNT OF" and returns the status. */
static macko_status Fail(macko_error *err, int64_t count, const char *of)
{
  err->status = MACKO_OUT_OF_MEMORY;
  (void)PetscSNPrintf(err->text, sizeof err->text, "no memory for %lld %s", (long long)count, of);
  return MACKO_OUT_OF_MEMORY;
}

/* ---- collecting rows ---- */

/* Makes room for one more row and for so many entries in all. Room doubles up to the size of a piece and goes beyond it only for
   a row that is longer, so that not twice a piece is taken. */
static macko_status Reserve(MackoCollector *c, int64_t entries, macko_error *err)
{
  if (c->rows + 2 > c->starts_room) {
    int64_t  room   = 2 * c->starts_room + 1024;
    int64_t *starts = (int64_t *)realloc(c->starts, (size_t)room * sizeof *starts);
    if (!starts) return Fail(err, room, "starts of rows");
    if (!c->starts) starts[0] = 0;
    c->starts = starts, c->starts_room = room;
  }
  if (entries > c->room) {
    int64_t      room   = PetscMax(entries, PetscMin(2 * c->room + 4096, (int64_t)c->most));
    PetscInt    *cols   = (PetscInt *)realloc(c->cols, (size_t)room * sizeof *cols);
    PetscScalar *values = NULL;
    if (cols) c->cols = cols, values = (PetscScalar *)realloc(c->values, (size_t)room * sizeof *values);
    if (!values) return Fail(err, room, "entries");
    c->values = values, c->room = room;
  }
  return MACKO_OK;
}

/* Both forms of a piece say the same of it; the host's is asked first, as it needs no CUDA. */
void MackoPieceInfo(const MackoPiece *piece, macko_info *info)
{
  if (piece->rows) macko_get_info(piece->rows, info);
  else MackoPieceDeviceInfo(piece, info);
}

/* What is not the piece's own was fetched for the borrower alone: host memory may have no room for all pieces. */
void MackoPieceReturn(const MackoPiece *piece, macko_matrix **rows)
{
  if (*rows != piece->rows) macko_destroy(rows);
  *rows = NULL;
}

/* Appends a piece, whose rows begin where it says, and counts its rows and entries. */
static macko_status AddPiece(MackoBlock *b, MackoPiece piece, macko_error *err)
{
  macko_info info;
  if (b->count == b->room) {
    PetscInt    room   = 2 * b->room + 4;
    MackoPiece *pieces = (MackoPiece *)realloc(b->pieces, (size_t)room * sizeof *pieces);
    if (!pieces) return Fail(err, room, "pieces");
    b->pieces = pieces, b->room = room;
  }
  MackoPieceInfo(&piece, &info);
  piece.count           = (PetscInt)info.nrows;
  b->pieces[b->count++] = piece;
  b->stored += piece.count;
  b->nnz += info.nnz;
  return MACKO_OK;
}

/* The form on the GPU goes first, because freeing it waits for copies that may still read the one on the host. */
static void DestroyPiece(MackoPiece *piece)
{
  MackoPieceDeviceFree(piece); /* this waits for copies of what follows */
  macko_destroy(&piece->rows);
}

/* The rows follow those of the pieces so far, between which none may be left out; their number is the matrix's own. */
macko_status MackoBlockAdd(MackoBlock *b, macko_matrix **rows, macko_error *err)
{
  macko_status status = AddPiece(b, (MackoPiece){.first = b->stored, .rows = *rows}, err);
  if (!status) *rows = NULL;
  return status;
}

/* Describes arrays as a csr with 64-bit starts; nothing is copied. */
static macko_csr View(int64_t nrows, PetscInt ncols, macko_type col_type, const int64_t *starts, const void *cols,
                      const PetscScalar *values)
{
  return (macko_csr){.nrows = nrows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = col_type, .value_type = MACKO_F64,
                     .row_ptr = starts, .cols = cols, .values = values};
}

/* Encodes the rows that wait as the next piece: on the GPU, if they are to be there and are worth it, else on the host. */
static macko_status Flush(MackoCollector *c, macko_error *err)
{
  macko_type    index = sizeof(PetscInt) == 8 ? MACKO_I64 : MACKO_I32;
  macko_csr     csr   = View(c->rows, c->block->ncols, index, c->starts, c->cols, c->values);
  MackoPiece    piece = {.first = c->first};
  macko_status  status = MACKO_OK;
  if (!c->rows) return MACKO_OK;
  err->place = 0; /* not all sentences are the library's */
  if (c->device) status = MackoPieceEncode(&csr, c->options, &piece.device, err);
  /* The rows of a block, and of the other one, are taken to be alike: more is not known of those to come. */
  const double parts = (double)c->block->nrows / (double)c->rows;
  if (!status && !piece.device) status = macko_encode_part(&csr, parts, c->options, &piece.rows, err);
  if (status) MackoPlaceError(c->row + c->first, c->col, c->names, err);
  if (!status) status = AddPiece(c->block, piece, err);
  if (status) DestroyPiece(&piece);
  c->first += (PetscInt)c->rows, c->rows = 0;
  return status;
}

/* The number of rows of a piece is limited, too, because empty rows would otherwise wait without end. */
static macko_status AddRow(MackoCollector *c, PetscInt n, const PetscInt *cols, const PetscScalar *values, macko_error *err)
{
  macko_status status = MACKO_OK;
  if (c->rows == c->most || (c->rows && c->starts[c->rows] + n > c->most)) status = Flush(c, err);
  int64_t begin = c->rows ? c->starts[c->rows] : 0;
  if (!status) status = Reserve(c, begin + n, err);
  if (status) return status;
  if (n) {
    memcpy(c->cols + begin, cols, (size_t)n * sizeof *cols);
    memcpy(c->values + begin, values, (size_t)n * sizeof *values);
  }
  c->starts[++c->rows] = begin + n;
  return MACKO_OK;
}

/* A product with one piece more takes about as long as one with so many rows without entries, a share of the most entries of a
   piece, which is larger for a GPU, too. */
enum { GAP_SHARE = 512 };

/* Ends the piece where more rows than that have come without entries; fewer become part of the piece. At its beginning none is
   needed. */
static macko_status EndGap(MackoCollector *c, macko_error *err)
{
  macko_status status = c->empty > c->most / GAP_SHARE ? Flush(c, err) : MACKO_OK;
  if (!c->rows) c->first += c->empty, c->empty = 0;
  for (; !status && c->empty; c->empty--) status = AddRow(c, 0, NULL, NULL, err);
  return status;
}

/* Rows without entries wait for one that has some, unless all are to be in pieces; behind the last one they are in none. */
macko_status MackoCollect(MackoCollector *c, PetscInt n, const PetscInt *cols, const PetscScalar *values, macko_error *err)
{
  macko_status status = MACKO_OK;
  if (!n && c->gaps) {
    c->empty++;
    return MACKO_OK;
  }
  if (c->empty) status = EndGap(c, err);
  return status ? status : AddRow(c, n, cols, values, err);
}

/* The collector can be filled again afterwards. */
macko_status MackoCollectEnd(MackoCollector *c, macko_status status, macko_error *err)
{
  if (!status) status = Flush(c, err);
  free(c->starts), free(c->cols), free(c->values);
  c->starts = NULL, c->cols = NULL, c->values = NULL, c->room = c->starts_room = 0;
  return status;
}

/* ---- products ---- */

/* Y = beta Y alone, where pieces do not write all of Y. A beta of 0 clears Y whatever is in it, NaN included, as a product does. */
static void Scale(PetscInt rows, PetscInt k, PetscScalar beta, PetscScalar *y, PetscInt ldy)
{
  if (beta == 1) return;
  for (PetscInt j = 0; j < k; j++)
    for (PetscInt i = 0; i < rows; i++) y[(size_t)j * ldy + i] = beta == 0 ? 0 : beta * y[(size_t)j * ldy + i];
}

/* A forward product writes each piece's rows of Y. One with the transpose adds to all of Y for each piece, so that beta counts
   for the first piece only. */
macko_status MackoBlockMultiply(MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y,
                                macko_error *err)
{
  macko_status status = MACKO_OK;
  if (!MackoBlockFills(b, op)) {
    Scale(op == MACKO_OP_N ? b->nrows : b->ncols, k, beta, y.data, y.ld);
    beta = 1;
  }
  for (PetscInt p = 0; !status && p < b->count; p++) {
    MackoPiece *piece = &b->pieces[p];
    status = MackoPieceFetch(piece, err);
    if (status) return status;
    if (op == MACKO_OP_N)
      status = macko_multiply(piece->rows, op, MACKO_F64, k, 1, x.data, x.ld, beta, y.data + piece->first, y.ld, err);
    else status = macko_multiply(piece->rows, op, MACKO_F64, k, 1, x.data + piece->first, x.ld, p ? 1 : beta, y.data, y.ld, err);
  }
  return status;
}

/* ---- entries ---- */

/* Frees the decoded entries of the one piece that was looked at last. */
void MackoBlockForget(MackoBlock *b)
{
  free(b->starts), free(b->cols), free(b->values);
  b->starts = NULL, b->cols = NULL, b->values = NULL;
  b->starts_room = b->entries_room = 0;
}

/* Makes room for a decoded piece. That of another piece is used again where it suffices, because the kernel clears new memory,
   which can take longer than decoding; else it is freed before, so that never two are there. */
static macko_status ReserveDecoded(MackoBlock *b, int64_t rows, int64_t nnz, macko_error *err)
{
  if (b->starts && rows < b->starts_room && nnz <= b->entries_room) return MACKO_OK;
  MackoBlockForget(b);
  b->starts_room = rows + 1, b->entries_room = nnz + 1;
  b->starts = (int64_t *)malloc((size_t)b->starts_room * sizeof *b->starts);
  b->cols   = (int64_t *)malloc((size_t)b->entries_room * sizeof *b->cols);
  b->values = (PetscScalar *)malloc((size_t)b->entries_room * sizeof *b->values);
  return b->starts && b->cols && b->values ? MACKO_OK : Fail(err, nnz, "decoded entries");
}

/* Decodes rows, which are the block's piece p or a copy of it. */
static macko_status DecodeRows(MackoBlock *b, PetscInt p, const macko_matrix *rows, macko_error *err)
{
  macko_info info;
  macko_get_info(rows, &info);
  macko_status status = ReserveDecoded(b, info.nrows, info.nnz, err);
  if (!status) status = macko_decode(rows, b->starts, b->cols, b->values, err);
  if (status) MackoBlockForget(b);
  b->decoded = p;
  return status;
}

/* Decodes piece p, unless it is the one that is decoded. */
static macko_status Decode(MackoBlock *b, PetscInt p, macko_error *err)
{
  macko_matrix *rows;
  if (b->starts && b->decoded == p) return MACKO_OK;
  macko_status status = MackoPieceBorrow(&b->pieces[p], &rows, err);
  if (!status) status = DecodeRows(b, p, rows, err);
  MackoPieceReturn(&b->pieces[p], &rows);
  return status;
}

/* Returns the piece that has row i, by a binary search for the last piece that does not begin after it. */
static PetscInt PieceOf(const MackoBlock *b, PetscInt i)
{
  PetscInt low = 0, high = b->count;
  while (high - low > 1) {
    PetscInt middle = low + (high - low) / 2;
    if (b->pieces[middle].first <= i) low = middle;
    else high = middle;
  }
  return low;
}

/* A row that is in no piece has no entries. */
macko_status MackoBlockRow(MackoBlock *b, PetscInt i, PetscInt *n, const int64_t **cols, const PetscScalar **values,
                           macko_error *err)
{
  *n = 0, *cols = NULL, *values = NULL;
  if (!b->count) return MACKO_OK;
  PetscInt p = PieceOf(b, i);
  if (i < b->pieces[p].first || i - b->pieces[p].first >= b->pieces[p].count) return MACKO_OK;
  macko_status status = Decode(b, p, err);
  if (status) return status;
  const int64_t *starts = b->starts + (i - b->pieces[p].first);
  *n    = (PetscInt)(starts[1] - starts[0]);
  *cols = b->cols + starts[0], *values = b->values + starts[0];
  return MACKO_OK;
}

/* Decodes rows, a copy of the block's piece p, changes the values and has rows take them. The pattern is the same, so that only
   values are encoded. */
static macko_status Renew(MackoBlock *from, PetscInt p, MackoChange *change, void *context, macko_matrix *rows, macko_error *err)
{
  PetscInt     first = from->pieces[p].first, n = from->pieces[p].count;
  macko_status status = DecodeRows(from, p, rows, err);
  if (status) return status;
  for (PetscInt i = 0; i < n; i++)
    (*change)(context, first + i, (PetscInt)(from->starts[i + 1] - from->starts[i]), from->cols + from->starts[i],
              from->values + from->starts[i]);
  /* Decoded columns have 64 bits; encoding took those of PetscInt, which is no matter to the proof that the pattern is the
     same. */
  macko_csr csr = View(n, from->ncols, MACKO_I64, from->starts, from->cols, from->values);
  status        = macko_refresh(rows, &csr, err);
  MackoBlockForget(from); /* its values are no longer the matrix's */
  return status;
}

/* Copies a piece to host memory, encoded as it is. What is fetched from the GPU is a copy already. */
static macko_status CopyPiece(const MackoPiece *piece, macko_matrix **copy, macko_error *err)
{
  return piece->rows ? macko_copy(piece->rows, copy, err) : MackoPieceBorrow(piece, copy, err);
}

/* Pieces are copied one at a time, encoded as they are; only with a change each is decoded in between. */
macko_status MackoBlockCopy(MackoBlock *from, MackoChange *change, void *context, MackoBlock *to, macko_error *err)
{
  macko_status status = MACKO_OK;
  *to = (MackoBlock){.nrows = from->nrows, .ncols = from->ncols};
  for (PetscInt p = 0; !status && p < from->count; p++) {
    MackoPiece piece = {.first = from->pieces[p].first};
    status           = CopyPiece(&from->pieces[p], &piece.rows, err);
    if (!status && change) status = Renew(from, p, change, context, piece.rows, err);
    if (!status) status = AddPiece(to, piece, err);
    if (status) DestroyPiece(&piece);
  }
  if (status) MackoBlockDestroy(to);
  return status;
}

/* The block keeps its sizes and can be filled again. */
void MackoBlockDestroy(MackoBlock *b)
{
  for (PetscInt p = 0; p < b->count; p++) DestroyPiece(&b->pieces[p]);
  free(b->pieces);
  MackoBlockForget(b);
  *b = (MackoBlock){.nrows = b->nrows, .ncols = b->ncols};
}
