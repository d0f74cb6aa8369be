/* Text and numbers as JSON. Their names are none of libjansson's, which libmacko calls: it would call the program's instead. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

/* Writes text as a JSON string, quotes included. Names of files can hold any byte, and JSON only UTF-8: \ufffd is written for
 * each byte that belongs to no character. */
void put_json_string(FILE *f, const char *text);

/* Writes "name": value, followed by `end`. JSON has no NaN and no Inf; null is written for these. */
void put_json_number(FILE *f, const char *name, double value, const char *end);

#endif
