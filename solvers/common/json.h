/* Text and numbers as JSON. Their names are none of libjansson's, which libmacko calls: it would call the program's instead. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

/* Text as a JSON string, quotes included. Names of files can hold any byte, JSON only UTF-8: \ufffd stands for each byte that is
 * no part of a character. */
void put_json_string(FILE *f, const char *text);

/* "name": value and what follows; JSON has no NaN and no Inf, they are null. */
void put_json_number(FILE *f, const char *name, double value, const char *end);

#endif
