/* Type macko in a build without CUDA: all pieces are in host memory. */
#include "compressed/compressed.h"

/* *device is NULL, on which the caller encodes on the host. */
macko_status MackoPieceEncode(const macko_csr *csr, const macko_options *options, struct macko_device_matrix **device,
                              macko_error *err)
{
  (void)csr, (void)options, (void)err;
  *device = NULL;
  return MACKO_OK;
}

/* Every piece is on the host already. */
macko_status MackoPieceBorrow(const MackoPiece *piece, macko_matrix **rows, macko_error *err)
{
  (void)err;
  *rows = piece->rows;
  return MACKO_OK;
}

/* Products on the host need nothing but the form that is there. */
macko_status MackoBlockPrepare(MackoBlock *b, MackoReady what, macko_error *err)
{
  (void)b, (void)what, (void)err;
  return MACKO_OK;
}

/* This is not reached: no piece is on a GPU only. */
void MackoPieceDeviceInfo(const MackoPiece *piece, macko_info *info)
{
  (void)piece, (void)info;
}

PetscInt64 MackoPieceDeviceBytes(const MackoPiece *piece)
{
  (void)piece;
  return 0;
}

void MackoPieceDeviceFree(MackoPiece *piece)
{
  (void)piece;
}

/* This is not reached: no product is on a GPU. */
macko_status MackoBlockDeviceMultiply(Mat A, MackoBlock *b, macko_op op, PetscInt k, MackoArray x, PetscScalar beta, MackoArray y,
                                      macko_error *err)
{
  (void)A, (void)b, (void)op, (void)k, (void)x, (void)beta, (void)y;
  err->status = MACKO_UNSUPPORTED;
  (void)PetscSNPrintf(err->text, sizeof err->text, "libpetscmacko was built without CUDA");
  return MACKO_UNSUPPORTED;
}

/* No piece is on a GPU. */
macko_status MackoBlockDeviceDiagonal(const MackoBlock *b, PetscScalar *diagonal, PetscBool *done, macko_error *err)
{
  (void)b, (void)diagonal, (void)err;
  *done = PETSC_FALSE;
  return MACKO_OK;
}

/* This is not reached either. */
PetscBool MackoHalosOnDevice(Mat A, PetscInt k, PetscScalar **halos)
{
  (void)A, (void)k;
  *halos = NULL;
  return PETSC_FALSE;
}

/* All products are done on the host. */
PetscErrorCode MackoCompressedOnDevice(Mat A, Vec x, Vec y, PetscBool *device)
{
  PetscFunctionBegin;
  (void)A, (void)x, (void)y;
  *device = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}
