/* Between the files of the suite container. */
#ifndef TEST_CONTAINER_H
#define TEST_CONTAINER_H

#include "containers.h"
#include "../assertions.h"

enum { HEADER = 64 }; /* bytes of a file before its head */

/* A matrix from that file, or the running test fails. */
macko_matrix *load(const char *path, macko_origin *origin);

/* What is refused. */
void add_damage_tests(TCase *t);

#endif
