/* What MatSetOption says of the entries that MatSetValues gives to type macko. */
#include "compressed/compressed.h"

/* Says whether the matrix as it was assembled or flushed last has an entry in that place. A program sets entries of one row after
   another, so that the row is often at hand. */
static PetscErrorCode Had(Mat A, PetscInt row, PetscInt col, PetscBool *had)
{
  Mat_Compressed    *m = (Mat_Compressed *)A->data;
  const PetscInt     i = row - A->rmap->rstart;
  PetscInt           n, place = -1;
  const PetscInt    *cols;
  const PetscScalar *values;
  macko_error        err;
  macko_status       status = MACKO_OK;

  PetscFunctionBegin;
  *had = PETSC_FALSE;
  if (!m->taken) PetscFunctionReturn(PETSC_SUCCESS);
  if (m->row_held != i + 1) status = MackoCompressedRow(A, i, &n, &cols, &values, &err);
  PetscCall(MackoRaise(PETSC_COMM_SELF, status, err.text));
  if (m->row_n) PetscCall(PetscFindInt(col, m->row_n, m->row.cols, &place));
  *had = (PetscBool)(place >= 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The order of the questions is AIJ's: a zero that is left out is no error. Places are new from the end of the first assembly on,
   as this type knows of no preallocation, or sooner where an option came after entries. */
PetscErrorCode MackoAdmits(Mat A, MackoNewEntry e, PetscBool *admitted)
{
  const Mat_Compressed *m = (const Mat_Compressed *)A->data;
  PetscBool             had;

  PetscFunctionBegin;
  *admitted = (PetscBool)!(e.zero && e.mode == ADD_VALUES);
  if (!*admitted || (!e.zero && !m->settled && !m->rules.at_once)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Had(A, e.row, e.col, &had));
  if (had || MackoCame(m->assembly, e.col)) PetscFunctionReturn(PETSC_SUCCESS);
  *admitted = (PetscBool)!(e.zero || m->rules.new_places == MACKO_NEW_IGNORED);
  PetscCheck(!*admitted || m->rules.new_places != MACKO_NEW_REFUSED, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "row %lld has no entry in column %lld, and MAT_NEW_NONZERO_LOCATION_ERR or MAT_NEW_NONZERO_ALLOCATION_ERR forbids "
             "new ones", (long long)e.row, (long long)e.col);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that AIJ follows in what it stores are followed, or refused; others, which speed AIJ up or tell facts, change nothing. */
PetscErrorCode MackoCompressedSetOption(Mat A, MatOption option, PetscBool on)
{
  Mat_Compressed *m     = (Mat_Compressed *)A->data;
  MackoRules     *rules = &m->rules;

  PetscFunctionBegin;
  if (option == MAT_NEW_NONZERO_LOCATIONS || option == MAT_NEW_NONZERO_LOCATION_ERR)
    rules->at_once = (PetscBool)(m->taken || m->assembly);
  if (option == MAT_NEW_NONZERO_ALLOCATION_ERR) rules->at_once = PETSC_FALSE; /* it asks for room, of which there always is some */
  if (option == MAT_ROW_ORIENTED) rules->by_columns = (PetscBool)!on;
  else if (option == MAT_IGNORE_OFF_PROC_ENTRIES) rules->others_ignored = on;
  else if (option == MAT_IGNORE_ZERO_ENTRIES) rules->zeros_ignored = on;
  else if (option == MAT_NEW_NONZERO_LOCATIONS) rules->new_places = on ? MACKO_NEW_TAKEN : MACKO_NEW_IGNORED;
  else if (option == MAT_NEW_NONZERO_LOCATION_ERR || option == MAT_NEW_NONZERO_ALLOCATION_ERR)
    rules->new_places = on ? MACKO_NEW_REFUSED : MACKO_NEW_TAKEN;
  else
    PetscCheck(!on || (option != MAT_STRUCTURE_ONLY && option != MAT_FORCE_DIAGONAL_ENTRIES), PetscObjectComm((PetscObject)A),
               PETSC_ERR_SUP,
               "option %s is not supported for this type: type macko stores the entries that it gets; convert to aij",
               MatOptions[option]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
