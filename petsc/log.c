/* -log_view: encoding has an event of its own, and is in no event of the product that asked for it. */
#include "matmacko.h"

/* What an event has gathered in the present stage; NULL without a log. */
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

/* An event that runs has taken its start from timeTmp, and will add its end. */
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
