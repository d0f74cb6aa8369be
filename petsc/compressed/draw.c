/* Type macko as a picture (-mat_view draw). Entries are averaged to pixels while pieces are decoded one after another, so that no
 * rank has them in another form, or more than the picture. */
#include "compressed/compressed.h"

#include <petscdraw.h>

/* These are the rows or the columns that the window shows, in pixels of `step` of them; the last pixel ends before past. */
typedef struct {
  PetscInt first, past, step, count;
} Axis;

/* The picture has two sums a pixel: the number of its entries, and of each entry its sign or, with sizes, its absolute value. */
typedef struct {
  Mat        A;
  PetscBool  sizes;
  Axis       rows, cols;
  PetscReal *sums;
  PetscReal  greatest; /* it is the greatest absolute value in all of A */
} Picture;

/* Cuts what the window shows of so many rows or columns, which is all of them unless the user has zoomed in. A pixel of ours is
   not smaller than one of the window, where entries would hide each other. */
static Axis Cut(PetscReal from, PetscReal to, PetscInt all, int window)
{
  PetscReal step = PetscCeilReal((to - from) / PetscMax(window, 1));
  Axis      axis = {.first = (PetscInt)PetscClipInterval(PetscFloorReal(from), 0, (PetscReal)all),
                    .past  = (PetscInt)PetscClipInterval(PetscCeilReal(to), 0, (PetscReal)all),
                    .step  = (PetscInt)PetscClipInterval(step, 1, (PetscReal)all)};
  axis.count     = (axis.past - axis.first) / axis.step + ((axis.past - axis.first) % axis.step > 0);
  return axis;
}

/* Returns the pixel that a row or column is in, or -1 if the window does not show it. */
static PetscInt PixelOf(const Axis *axis, PetscInt i)
{
  return i < axis->first || i >= axis->past ? -1 : (i - axis->first) / axis->step;
}

/* Adds one entry, in pixel row r and in the given column. */
static void AddEntry(Picture *p, PetscInt r, PetscInt col, PetscReal value)
{
  PetscInt c = PixelOf(&p->cols, col);
  if (c < 0) return;
  PetscReal *sums = p->sums + 2 * (r * p->cols.count + c);
  sums[0]++;
  sums[1] += p->sizes ? PetscAbsReal(value) : (PetscReal)((value > 0) - (value < 0));
}

/* Adds this rank's entries. Rows outside of the window are decoded for their greatest value, by which colours are scaled, so that
   zooming in changes no colour of an entry. */
static macko_status AddRows(Picture *p, macko_error *err)
{
  PetscInt           n, first = p->A->rmap->rstart;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_status       status = MACKO_OK;
  for (PetscInt i = 0; !status && i < p->A->rmap->n; i++) {
    PetscInt r = PixelOf(&p->rows, first + i);
    status     = MackoCompressedRow(p->A, i, &n, &cols, &values, err);
    for (PetscInt k = 0; !status && k < n; k++) {
      p->greatest = PetscMax(p->greatest, PetscAbsScalar(values[k]));
      if (r >= 0) AddEntry(p, r, cols[k], PetscRealPart(values[k]));
    }
  }
  MackoCompressedForget(p->A);
  return status;
}

/* Adds the entries of all ranks. Collective. */
static PetscErrorCode Fill(Picture *p)
{
  MPI_Comm    comm = PetscObjectComm((PetscObject)p->A);
  PetscMPIInt size = (PetscMPIInt)(2 * p->rows.count * p->cols.count);
  macko_error err  = {0};

  PetscFunctionBegin;
  PetscCall(MackoAgree(comm, AddRows(p, &err), err.text));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, p->sums, size, MPIU_REAL, MPIU_SUM, comm));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &p->greatest, 1, MPIU_REAL, MPIU_MAX, comm));
  /* A scale from 0 to 0 has no colours. */
  p->greatest = PetscMax(p->greatest, PETSC_SMALL);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- colours, which for a pixel of one entry are AIJ's ---- */

/* Returns the colour of a pixel with so many entries and such a sum: by the mean of their sizes, or by the sign that most have. */
static int ColourOf(const Picture *p, PetscReal count, PetscReal sum)
{
  if (p->sizes) return PetscDrawRealToColor(sum / count, 0, p->greatest);
  return sum < 0 ? PETSC_DRAW_BLUE : sum > 0 ? PETSC_DRAW_RED : PETSC_DRAW_CYAN;
}

/* Draws the pixel at (r, c). Rows are counted from above, coordinates from below. */
static PetscErrorCode PaintPixel(PetscDraw draw, const Picture *p, PetscInt r, PetscInt c, int colour)
{
  PetscInt  row = p->rows.first + r * p->rows.step, rows = PetscMin(p->rows.step, p->rows.past - row);
  PetscInt  col = p->cols.first + c * p->cols.step, cols = PetscMin(p->cols.step, p->cols.past - col);
  PetscReal left = (PetscReal)col, top = (PetscReal)(p->A->rmap->N - row);

  PetscFunctionBegin;
  PetscCall(PetscDrawRectangle(draw, left, top - (PetscReal)rows, left + (PetscReal)cols, top, colour, colour, colour, colour));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Draws the pixels whose colours are from `from` to `to`. */
static PetscErrorCode Paint(PetscDraw draw, const Picture *p, int from, int to)
{
  const PetscReal *sums = p->sums;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < p->rows.count; r++)
    for (PetscInt c = 0; c < p->cols.count; c++, sums += 2) {
      if (!sums[0]) continue;
      int colour = ColourOf(p, sums[0], sums[1]);
      if (colour >= from && colour <= to) PetscCall(PaintPixel(draw, p, r, c, colour));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rank 0 draws for all, as not every kind of window takes what other ranks draw. Pixels may overlap at their borders: positive ones
   come last then, as in AIJ's picture. Collective. */
static PetscErrorCode Show(PetscDraw draw, const Picture *p)
{
  static const int order[] = {PETSC_DRAW_BLUE, PETSC_DRAW_CYAN, PETSC_DRAW_RED};
  PetscDraw        scale;
  PetscMPIInt      rank;

  PetscFunctionBegin;
  if (p->sizes) {
    PetscCall(PetscDrawGetPopup(draw, &scale));
    PetscCall(PetscDrawScalePopup(scale, 0, p->greatest));
  }
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)draw), &rank));
  if (rank > 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->sizes) PetscCall(Paint(draw, p, PETSC_DRAW_BASIC_COLORS, PETSC_DRAW_MAXCOLOR));
  for (int k = 0; !p->sizes && k < 3; k++) PetscCall(Paint(draw, p, order[k], order[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- the window ---- */

/* Draws what the window shows now; PETSc calls this again whenever the user has zoomed. Collective. */
static PetscErrorCode DrawWindow(PetscDraw draw, void *context)
{
  Picture  *p = (Picture *)context;
  PetscReal left, bottom, right, top, all = (PetscReal)p->A->rmap->N;
  int       width, height;

  PetscFunctionBegin;
  PetscCall(PetscDrawGetCoordinates(draw, &left, &bottom, &right, &top));
  PetscCall(PetscDrawGetWindowSize(draw, &width, &height));
  p->rows = Cut(all - top, all - bottom, p->A->rmap->N, height);
  p->cols = Cut(left, right, p->A->cmap->N, width);
  PetscCall(PetscCalloc1((size_t)(2 * p->rows.count * p->cols.count), &p->sums));
  PetscErrorCode error = Fill(p);
  if (!error) error = Show(draw, p);
  PetscCall(PetscFree(p->sums));
  PetscCall(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The margins are AIJ's: a tenth of the matrix on each side. */
PetscErrorCode MackoCompressedDraw(Mat A, PetscViewer viewer)
{
  Picture           picture = {.A = A};
  PetscViewerFormat format;
  PetscDraw         draw;
  PetscBool         none;
  PetscReal         x = (PetscReal)A->cmap->N, y = (PetscReal)A->rmap->N;

  PetscFunctionBegin;
  PetscCall(PetscViewerGetFormat(viewer, &format));
  picture.sizes = (PetscBool)(format == PETSC_VIEWER_DRAW_CONTOUR);
  PetscCall(PetscViewerDrawGetDraw(viewer, 0, &draw));
  PetscCall(PetscDrawIsNull(draw, &none));
  if (none) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscDrawSetCoordinates(draw, -x / 10, -y / 10, x + x / 10, y + y / 10));
  PetscCall(PetscDrawZoom(draw, DrawWindow, &picture));
  PetscCall(PetscDrawSave(draw));
  PetscFunctionReturn(PETSC_SUCCESS);
}
