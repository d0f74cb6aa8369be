/* Places in a matrix, as users of the programs read them. */
#ifndef PLACE_H
#define PLACE_H

#include <stddef.h>

/* Makes a row and column of a sentence of the library, which says that they are counted from 0, as arrays are, a place that is
 * counted from 1, as in Matrix Market, and says so. The text is cut where it outgrows `room`. */
void place_from_1(char *text, size_t room);

#endif
