/* The worked examples of the formats' pages, read for tests. */
#include "manual.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *open_manual(const char *format, const char *block)
{
  const char *srcdir = getenv("srcdir");
  char path[500], line[200];
  snprintf(path, sizeof path, "%s/doc/formats/%s.md", srcdir ? srcdir : ".", format);
  FILE *file = fopen(path, "r");
  ck_assert_msg(file != NULL, "%s cannot be opened", path);
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "```", 3) && !strncmp(line + 3, block, strlen(block))) return file;
  ck_abort_msg("%s has no block %s", path, block);
  return NULL;
}

macko_csr test_manual_matrix(const char *format, test_example *e)
{
  FILE *file = open_manual(format, "matrix");
  long rows, ncols, row, col, n = 0;
  ck_assert_int_eq(fscanf(file, "%ld %ld", &rows, &ncols), 2);
  memset(e, 0, sizeof *e);
  for (; n < 100 && fscanf(file, "%ld %ld %lf", &row, &col, &e->values[n]) == 3; n++)
    e->cols[n] = col, e->row_ptr[row + 1] = n + 1;
  for (long i = 1; i <= rows; i++)
    if (e->row_ptr[i] < e->row_ptr[i - 1]) e->row_ptr[i] = e->row_ptr[i - 1];
  fclose(file);
  return (macko_csr){.nrows = rows, .ncols = ncols, .row_ptr_type = MACKO_I64, .col_type = MACKO_I64, .value_type = MACKO_F64,
                     .row_ptr = e->row_ptr, .cols = e->cols, .values = e->values};
}

const macko_section *test_section(const macko_matrix *m, const char *name)
{
  for (int i = 0; i < m->nsections; i++)
    if (!strcmp(m->sections[i].name, name)) return &m->sections[i];
  ck_abort_msg("no section %s", name);
  return NULL;
}

/* "40:" in place of an element says where the next one is: those before it are zero. */
static void check_elements(FILE *file, const macko_section *s, int64_t spare)
{
  const int64_t size = macko_type_bytes(s->type), count = s->bytes / size - spare;
  for (int64_t i = 0; i < count;) {
    char word[40];
    ck_assert_int_eq(fscanf(file, "%39s", word), 1);
    const int place = strchr(word, ':') != NULL;
    const int64_t past = place ? (int64_t)strtoll(word, NULL, 16) : i + 1;
    const unsigned long long expected = place ? 0 : strtoull(word, NULL, 16);
    ck_assert_msg(past <= count, "%s has no place %s", s->name, word);
    for (; i < past; i++) {
      unsigned long long element = 0;
      memcpy(&element, (const char *)s->data + i * size, (size_t)size);
      ck_assert_msg(element == expected, "%s[%ld] is %llx, the manual says %llx", s->name, (long)i, element, expected);
    }
  }
}

void test_check_manual_sections(const char *format, const macko_matrix *m, int64_t spare)
{
  FILE *file = open_manual(format, "sections");
  char name[40];
  int sections = 0;
  for (; fscanf(file, "%39s", name) == 1 && name[0] != '`'; sections++)
    check_elements(file, test_section(m, name), strcmp(name, "values") ? 0 : spare);
  ck_assert_int_eq(sections, m->nsections);
  fclose(file);
}
