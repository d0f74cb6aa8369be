/* -log_view: encoding has an event of its own, and is in no event of the product that asked for it. */
#include "matmacko.h"

/* Sets *info to what an event has gathered in the present stage of the log, or to NULL where nobody keeps a log. PETSc changed
   the way to ask for it in 3.20. */
static PetscErrorCode Gathered(PetscLogEvent event, PetscEventPerfInfo **info)
{
  PetscFunctionBegin;
  *info = NULL;
#if PETSC_VERSION_GE(3, 20, 0)
  PetscLogHandler handler;
  PetscCall(PetscLogGetDefaultHandler(&handler));
  if (handler) PetscCall(PetscLogHandlerGetEventPerfInfo(handler, PETSC_DETERMINE, event, info));
#elif defined(PETSC_USE_LOG)
  PetscStageLog log;
  if (!PetscLogPLB) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscLogGetStageLog(&log));
  if (log->curStage >= 0 && event < log->stageInfo[log->curStage].eventLog->numEvents)
    *info = &log->stageInfo[log->curStage].eventLog->eventInfo[event];
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An event that runs has subtracted its start from timeTmp and will add its end, so subtracting seconds here shortens it by as
   much. All events of products are tried, because the encoding does not know which of them has asked for it, and they may be
   nested; those that do not run have depth 0. */
PetscErrorCode MackoLogOutsideProduct(PetscLogDouble seconds)
{
  const PetscLogEvent products[] = {MAT_Mult, MAT_MultAdd, MAT_MultTranspose, MAT_MultTransposeAdd, MAT_MatMultNumeric,
                                    MAT_TransposeMatMultNumeric};
  PetscEventPerfInfo *info;

  PetscFunctionBegin;
  for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
    PetscCall(Gathered(products[i], &info));
    if (info && info->depth > 0) info->timeTmp -= seconds;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
