/* -mat_macko_*: one option for each of the library's, with the choices of its lists. */
#include "matmacko.h"

#define MACKO_CHOICE(symbol, name, text) "; " #name " (" text ")"

static const struct {
  const char *option, *name, *usual, *help;
} known[] = {
  {"-mat_macko_format", "format", "auto", "Format: auto (what -mat_macko_prefer asks for)"
#define MACKO_FORMAT(symbol, name, text) MACKO_CHOICE(symbol, name, text)
#include "formats.def"
#undef MACKO_FORMAT
  },
  {"-mat_macko_layout", "layout", "auto", "Layout of format macko"
#define MACKO_LAYOUT(symbol, name, text) MACKO_CHOICE(symbol, name, text)
#include "choices.def"
#undef MACKO_LAYOUT
  },
  {"-mat_macko_delta_bits", "delta_bits", "auto", "Bits of a column gap, layouts row and paper: auto, 1, 2, 4, 8 or 16"},
  {"-mat_macko_values", "values", "auto", "How values are stored"
#define MACKO_VALUES(symbol, name, text) MACKO_CHOICE(symbol, name, text)
#include "choices.def"
#undef MACKO_VALUES
  },
  {"-mat_macko_variant", "variant", "auto", "Variant of format dtans"
#define MACKO_VARIANT(symbol, name, text) MACKO_CHOICE(symbol, name, text)
#include "choices.def"
#undef MACKO_VARIANT
  },
  {"-mat_macko_prefer", "prefer", "time", "What automatic choices go by"
#define MACKO_PREFER(symbol, name, text) MACKO_CHOICE(symbol, name, text)
#include "choices.def"
#undef MACKO_PREFER
  },
};

void MackoSetOptions(Mat_Macko *m, const macko_options *options)
{
  const macko_options *old = &m->options;
  if (old->format != options->format || old->layout != options->layout || old->delta_bits != options->delta_bits ||
      old->values != options->values || old->variant != options->variant || old->prefer != options->prefer)
    m->owner = NULL;
  m->options      = *options;
  m->options_read = PETSC_TRUE;
}

typedef const char *const choices[3];

static PetscErrorCode ReadChoice(Mat A, MackoOptionItems items, const char *option, const char *help, choices names, int *choice)
{
  char      text[64] = "auto";
  PetscBool given = PETSC_FALSE, same = PETSC_FALSE;

  PetscFunctionBegin;
  if (items) {
    MackoOptionItems PetscOptionsObject = items;
    PetscCall(PetscOptionsString(option, help, "MATAIJMACKO", text, text, sizeof text, &given));
  } else {
    PetscCall(PetscOptionsGetString(((PetscObject)A)->options, ((PetscObject)A)->prefix, option, text, sizeof text, &given));
  }
  for (int i = 0; given && !same && i < 3; i++) {
    PetscCall(PetscStrcmp(text, names[i], &same));
    if (same) *choice = i;
  }
  PetscCheck(!given || same, PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%s%s: \"%s\" is none of %s, %s and %s",
             ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "", option + 1, text, names[0], names[1], names[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoReadBackend(Mat A, MackoOptionItems items)
{
  static choices backends = {"auto", "cpu", "cuda"}, paths = {"auto", "host", "peer"};
  Mat_Macko     *m;
  int            backend, path;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  backend = (int)m->backend, path = (int)m->halo_path;
  PetscCall(ReadChoice(A, items, "-mat_macko_backend",
                       "Where products run: auto (where the vectors are); cpu; cuda (copies vectors)", backends,
                       &backend));
  PetscCall(ReadChoice(A, items, "-mat_macko_halo",
                       "How ranks exchange entries of vectors on GPUs: auto (from GPU to GPU where possible); "
                       "host (through its memory); peer (from GPU to GPU or not at all)", paths, &path));
  m->backend = (MackoBackend)backend, m->halo_path = (MackoHaloPath)path;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode MackoReadOptions(Mat A, MackoOptionItems items)
{
  Mat_Macko    *m;
  macko_options options;

  PetscFunctionBegin;
  PetscCall(MackoGet(A, &m));
  if (m->options_read && !items) PetscFunctionReturn(PETSC_SUCCESS);
  options = m->options;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    char        text[64];
    PetscBool   given    = PETSC_FALSE;
    macko_error err;
    PetscCall(PetscStrncpy(text, known[i].usual, sizeof text));
    if (items) {
      MackoOptionItems PetscOptionsObject = items; /* the name that PETSc's macro expects */
      PetscCall(PetscOptionsString(known[i].option, known[i].help, "MATAIJMACKO", text, text, sizeof text, &given));
    } else {
      PetscCall(PetscOptionsGetString(((PetscObject)A)->options, ((PetscObject)A)->prefix, known[i].option, text,
                                      sizeof text, &given));
    }
    if (given && macko_options_set(&options, known[i].name, text, &err))
      SETERRQ(PetscObjectComm((PetscObject)A), PETSC_ERR_USER_INPUT, "-%s%s: %s",
              ((PetscObject)A)->prefix ? ((PetscObject)A)->prefix : "", known[i].option + 1, err.text);
  }
  MackoSetOptions(m, &options);
  PetscCall(MackoReadBackend(A, items));
  PetscCall(MackoChooseVectors(A));
  PetscFunctionReturn(PETSC_SUCCESS);
}
