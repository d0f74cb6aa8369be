/* Between the files of the suite rows. */
#ifndef TEST_ROWS_H
#define TEST_ROWS_H

#include "../assertions.h"

/* What encoding from rows takes of memory. */
void add_memory_tests(TCase *t);

#endif
