/* Type macko drawn (-mat_view draw): pictures, pixel by pixel. */
#include "compressed.h"

#include <petsc/private/drawimpl.h>
#include <petscdraw.h>

enum { ROWS = 61, COLS = 47, LINE = 3000, SIZE = 300 };

/* What the user's mouse does: a click that zooms in, one that leaves. */
static int clicks;

static PetscErrorCode click(PetscDraw draw, PetscDrawButton *button, PetscReal *x, PetscReal *y, PetscReal *x_window,
                            PetscReal *y_window)
{
  (void)draw, (void)x_window, (void)y_window; /* nobody asks for these two, which are NULL */
  *button = clicks++ ? PETSC_BUTTON_RIGHT : PETSC_BUTTON_LEFT;
  *x = 20, *y = 30;
  return 0;
}

PetscViewer picture_viewer(MPI_Comm comm, int width)
{
  PetscViewer viewer;
  PetscDraw   draw;
  OK(PetscViewerDrawOpen(comm, NULL, NULL, 0, 0, width, width, &viewer));
  OK(PetscViewerDrawSetDrawType(viewer, PETSC_DRAW_IMAGE));
  OK(PetscViewerDrawGetDraw(viewer, 0, &draw));
  OK(PetscFree(draw->savefilename)); /* an image would become a file in the working folder */
  return viewer;
}

/* The numbers of the colours of all pixels, on the first rank that has the matrix; NULL elsewhere. The caller frees them with
   PetscFree. */
static unsigned char *picture_of(Mat A, PetscViewerFormat format, PetscBool zoom)
{
  PetscViewer   viewer = picture_viewer(PetscObjectComm((PetscObject)A), SIZE);
  PetscDraw     draw;
  unsigned char palette[256][3], *pixels = NULL;
  unsigned int  w, h;
  OK(PetscViewerPushFormat(viewer, format));
  OK(PetscViewerDrawGetDraw(viewer, 0, &draw));
  if (zoom) {
    OK(PetscDrawSetPause(draw, -1));
    draw->ops->getmousebutton = click, clicks = 0;
  }
  OK(MatView(A, viewer));
  OK((*draw->ops->getimage)(draw, palette, &w, &h, &pixels));
  ck_assert(w == SIZE && h == SIZE);
  OK(PetscViewerDestroy(&viewer));
  return pixels;
}

/* How many pixels of the picture have a colour. */
static PetscInt count(const unsigned char *pixels, int colour)
{
  PetscInt n = 0;
  for (int i = 0; pixels && i < SIZE * SIZE; i++) n += pixels[i] == colour;
  return n;
}

/* W is the whole of a matrix on each rank. */
static void assert_same_pictures(Mat A, Mat W, PetscViewerFormat format, PetscBool zoom)
{
  PetscInt       bad = 0;
  unsigned char *a = picture_of(A, format, zoom), *w = picture_of(W, format, zoom);
  for (int i = 0; a && i < SIZE * SIZE; i++) bad += a[i] != w[i];
  ASSERT_ALL(!bad, "%d of %d pixels differ", (int)bad, SIZE * SIZE);
  ASSERT_ALL(count(w, PETSC_DRAW_WHITE) < SIZE * SIZE, "AIJ's picture is empty");
  OK(PetscFree(a));
  OK(PetscFree(w));
}

/* The whole of the matrix, on each rank. The caller destroys it. */
static Mat whole_of(Mat P)
{
  IS   rows, cols;
  Mat *sub, W;
  OK(ISCreateStride(PETSC_COMM_SELF, ROWS, 0, 1, &rows));
  OK(ISCreateStride(PETSC_COMM_SELF, COLS, 0, 1, &cols));
  OK(MatCreateSubMatrices(P, 1, &rows, &cols, MAT_INITIAL_MATRIX, &sub));
  W = sub[0];
  OK(PetscObjectReference((PetscObject)W));
  OK(MatDestroySubMatrices(1, &sub));
  OK(ISDestroy(&rows));
  OK(ISDestroy(&cols));
  return W;
}

/* Negative entries, zeros and positive ones. */
START_TEST(small_matrices_as_aij)
{
  for (type_choice type = ROOT_TYPE; type < TYPES; type++) {
    Mat      A, P, W;
    Vec      left;
    PetscInt first, past;
    make_both(type, ROWS, COLS, &A, &P);
    OK(MatCreateVecs(P, NULL, &left));
    OK(VecGetOwnershipRange(left, &first, &past));
    for (PetscInt i = first; i < past; i++) OK(VecSetValue(left, i, i % 5 - 2., INSERT_VALUES));
    OK(VecAssemblyBegin(left));
    OK(VecAssemblyEnd(left));
    OK(MatDiagonalScale(A, left, NULL));
    OK(MatDiagonalScale(P, left, NULL));
    W = whole_of(P);
    for (int zoom = 0; zoom < (ranks() == 1 ? 2 : 1); zoom++) {
      assert_same_pictures(A, W, PETSC_VIEWER_DEFAULT, (PetscBool)zoom);
      assert_same_pictures(A, W, PETSC_VIEWER_DRAW_CONTOUR, (PetscBool)zoom);
    }
    OK(VecDestroy(&left));
    DESTROY(&A, &P, &W);
  }
}
END_TEST

/* A tridiagonal matrix, most of whose entries are negative, and one positive entry in a corner. */
static PetscErrorCode give_line(void *context, PetscInt row, PetscInt *n, const PetscInt **cols, const PetscScalar **values)
{
  static PetscInt    at[4];
  static PetscScalar value[4];
  (void)context;
  *n = 0;
  for (PetscInt j = PetscMax(row - 1, 0); j <= PetscMin(row + 1, LINE - 1); j++) at[*n] = j, value[(*n)++] = j == row ? 2 : -1;
  if (row == 0) at[*n] = LINE - 1, value[(*n)++] = 1.5;
  *cols = at, *values = value;
  return 0;
}

/* A pixel is what most of its entries are, and what is small does not vanish. */
START_TEST(pixels_are_means)
{
  Mat A;
  OK(PetscOptionsSetValue(NULL, "-mat_macko_piece", "1000"));
  OK(MatMackoCreateFromRows(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, LINE, LINE, give_line, NULL, &A));
  unsigned char *signs = picture_of(A, PETSC_VIEWER_DEFAULT, PETSC_FALSE);
  unsigned char *sizes = picture_of(A, PETSC_VIEWER_DRAW_CONTOUR, PETSC_FALSE);
  PetscInt       blue = count(signs, PETSC_DRAW_BLUE), red = count(signs, PETSC_DRAW_RED);
  ASSERT_ALL(!signs || (blue >= SIZE / 2 && blue < 5 * SIZE && red > 0 && red < 10), "%d blue pixels, %d red ones", (int)blue,
             (int)red);
  /* Pixels on the diagonal have means below 1.4, those beside it 1, and that in the corner 1.5; the greatest value is 2. */
  int corner = PetscDrawRealToColor(1.5, 0, 2);
  ASSERT_ALL(!sizes || (count(sizes, corner) > 0 && count(sizes, corner) < 10), "%d pixels as in the corner",
             (int)count(sizes, corner));
  ASSERT_ALL(!count(sizes, PetscDrawRealToColor(2, 0, 2)), "a pixel is its greatest value");
  OK(PetscFree(signs));
  OK(PetscFree(sizes));
  OK(MatDestroy(&A));
}
END_TEST

void add_draw_tests(TCase *t)
{
  tcase_add_test(t, small_matrices_as_aij);
  tcase_add_test(t, pixels_are_means);
}
