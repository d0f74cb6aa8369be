/* Text and numbers as JSON, and text as gnuplot takes it. Names of the functions are none of libjansson's, which libmacko calls: it
 * would call the program's instead. */
#ifndef JSON_H
#define JSON_H

#include <stdio.h>

/* Writes text as a JSON string, quotes included. Names of files can hold any byte, and JSON only UTF-8: \ufffd is written for
 * each byte that belongs to no character. */
void put_json_string(FILE *f, const char *text);

/* Writes "name": value, followed by `end`. JSON has no NaN and no Inf; null is written for these. */
void put_json_number(FILE *f, const char *name, double value, const char *end);

/* Writes text as a string in a command of gnuplot's, which takes nothing in it for a command of the shell or for its own; control
 * characters become blanks. */
void put_gnuplot_string(FILE *f, const char *text);

/* Writes the line by which gnuplot draws into the file of that name, whatever it begins with. */
void put_gnuplot_output(FILE *f, const char *path);

#endif
