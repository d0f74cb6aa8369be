/* The table of arrays that every compressed matrix is made of. */
#include "core/format.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef MADV_HUGEPAGE
/* Asks for large pages in the place of those from begin to past, which are some, and tells whether these are zeros now. A word that
 * was none tells whether the old pages have been let go, as memory of another kind may be kept. */
static int renew_pages(char *begin, char *past)
{
  volatile uint64_t *word = (volatile uint64_t *)(void *)begin;
  *word = 1;
  return !madvise(begin, (size_t)(past - begin), MADV_HUGEPAGE) && !madvise(begin, (size_t)(past - begin), MADV_DONTNEED) && !*word;
}

/* A stream through pages of 4 KiB misses the translation buffer all the time: with pages of 2 MiB a multiply was up to 1.4 times as
 * fast, and encoding has fewer page faults. Only what fills whole large pages is asked for, so no memory is added. calloc would
 * write zeros into pages that the allocator gives a second time, which may be small; they are let go instead, as the next ones come
 * as zeros. */
void *macko_zeros(size_t bytes)
{
  const uintptr_t page = (uintptr_t)2 << 20;
  char *zeros = bytes < 2 * page ? calloc(bytes ? bytes : 1, 1) : malloc(bytes);
  if (!zeros || bytes < 2 * page) return zeros;
  char *past = zeros + bytes, *first = zeros + (page - (uintptr_t)zeros % page) % page, *end = past - (uintptr_t)past % page;
  if (!renew_pages(first, end)) end = first;
  memset(zeros, 0, (size_t)(first - zeros)), memset(end, 0, (size_t)(past - end));
  return zeros;
}
#else
void *macko_zeros(size_t bytes)
{
  return calloc(bytes ? bytes : 1, 1);
}
#endif

/* The array is zeroed, so that padding has the same bytes in every run. An empty section has a byte of memory, because NULL would
 * say that there is none. */
macko_status macko_new_section(macko_section like, macko_section *section, macko_error *err)
{
  like.data = macko_zeros((size_t)like.bytes);
  if (!like.data)
    return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for %lld bytes of section %s", (long long)like.bytes, like.name);
  *section = like;
  return MACKO_OK;
}

/* A format that asks for more sections than there is room for is refused, so that one that is added later cannot write beyond the
 * table. */
macko_status macko_add_section(macko_matrix *m, macko_section like, macko_error *err)
{
  if (m->nsections == MACKO_MAX_SECTIONS)
    return macko_fail(err, MACKO_LIMIT, "section %s is one more than the %d a matrix has room for", like.name,
                      MACKO_MAX_SECTIONS);
  macko_status s = macko_new_section(like, &m->sections[m->nsections], err);
  if (!s) m->nsections++;
  return s;
}

macko_status macko_add_sections(macko_matrix *m, int pattern_only, macko_error *err)
{
  macko_section list[MACKO_MAX_SECTIONS];
  int n = m->ops->sections(m, list);
  macko_status s = MACKO_OK;
  for (int i = 0; !s && i < n; i++)
    if (list[i].pattern || !pattern_only) s = macko_add_section(m, list[i], err);
  return s;
}

/* Sections are compared with those that the plan asks for, in their order: a file names them, and a format finds them by their
 * place. */
macko_status macko_check_sections(const macko_matrix *m, macko_error *err)
{
  macko_section list[MACKO_MAX_SECTIONS];
  int n = m->ops->sections(m, list);
  for (int i = 0; i < n; i++) {
    const macko_section *s = i < m->nsections ? &m->sections[i] : NULL, *like = &list[i];
    if (s && !strcmp(s->name, like->name) && s->type == like->type && s->bytes == like->bytes) {
      if (s->pattern == like->pattern && s->values == like->values) continue;
      return macko_fail(err, MACKO_CORRUPT, "section %s tells of the pattern (%d) and of values (%d); it should be %d and %d",
                        s->name, s->pattern, s->values, like->pattern, like->values);
    }
    return macko_fail(err, MACKO_CORRUPT, "section %d should be %s of %lld bytes of type %s; it is %s of %lld, %s", i, like->name,
                      (long long)like->bytes, macko_type_name(like->type), s ? s->name : "missing",
                      s ? (long long)s->bytes : 0LL, s && macko_type_name(s->type) ? macko_type_name(s->type) : "no type");
  }
  if (m->nsections == n) return MACKO_OK;
  return macko_fail(err, MACKO_CORRUPT, "%d sections, where the plan asks for %d", m->nsections, n);
}

/* All copies are made before one takes its place, so that the matrix is unchanged where memory is short. */
macko_status macko_own_arrays(macko_matrix *m, macko_error *err)
{
  macko_section copies[MACKO_MAX_SECTIONS];
  macko_status s = MACKO_OK;
  int made = 0;
  for (; m->borrowed && !s && made < m->nsections; made += !s) s = macko_new_section(m->sections[made], &copies[made], err);
  for (int i = 0; i < made; i++)
    if (s) free(copies[i].data);
    else memcpy(copies[i].data, m->sections[i].data, (size_t)m->sections[i].bytes), m->sections[i] = copies[i];
  if (!s) m->borrowed = 0;
  return s;
}

const macko_section *macko_find_section(const macko_matrix *m, const char *name)
{
  for (int i = 0; i < m->nsections; i++)
    if (!strcmp(m->sections[i].name, name)) return &m->sections[i];
  return NULL;
}

/* Sections keep their place, as formats with a fixed order find them by it. */
void macko_put_section(macko_matrix *m, const macko_section *fresh)
{
  for (int i = 0; i < m->nsections; i++)
    if (!strcmp(m->sections[i].name, fresh->name)) {
      free(m->sections[i].data);
      m->sections[i] = *fresh;
      return;
    }
  m->sections[m->nsections++] = *fresh;
}

void macko_drop_values(macko_matrix *m)
{
  int kept = 0;
  for (int i = 0; i < m->nsections; i++)
    if (m->sections[i].pattern) m->sections[kept++] = m->sections[i];
    else free(m->sections[i].data);
  m->nsections = kept;
}

const macko_section *macko_get_section(const macko_matrix *m, int64_t i)
{
  return m && i >= 0 && i < m->nsections ? &m->sections[i] : NULL;
}
