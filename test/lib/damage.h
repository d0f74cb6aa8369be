/* Damage to the sections of a matrix, as of one that comes from a file. */
#ifndef TEST_DAMAGE_H
#define TEST_DAMAGE_H

#include "core/format.h"

/* Changes every byte of every section in turn, and back: fails unless each time macko_validate finds the damage or products can be
 * made all the same, and the matrix is good in the end. More than `least` of the damages have to be found. */
void test_change_every_byte(macko_matrix *m, int least);

#endif
