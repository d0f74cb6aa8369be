/* Floating-point exceptions that a program traps. Encoding tries whether values survive in narrower types, and such a trial may
 * overflow: no arithmetic of the program does, so that it is neither stopped nor told. */
#ifndef MACKO_TRAPS_H
#define MACKO_TRAPS_H

#include <fenv.h>

/* Ends all traps of the calling thread until macko_restore_traps with the same *kept, which also takes back the exceptions that
 * came in between. */
static inline void macko_hold_traps(fenv_t *kept)
{
  feholdexcept(kept);
}

static inline void macko_restore_traps(const fenv_t *kept)
{
  fesetenv(kept);
}

#endif
