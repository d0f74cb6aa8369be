/* malloc and its like for a program linked with -Wl,--wrap: each call can be made to fail, and what is not freed is counted. */
#include "failing_malloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

test_allocations heap = {.fails_at = -1};

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void  __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
char *__real_realpath(const char *path, char *room);
char *__wrap_realpath(const char *path, char *room);
void  __wrap_free(void *memory);

static int fails(void)
{
  long call = heap.calls++;
  int failing = heap.fails_at >= 0 && (call == heap.fails_at || (heap.fails_after && call > heap.fails_at));
  heap.needed |= failing;
  return failing;
}

static void *counted(void *memory)
{
  heap.live += memory != NULL;
  return memory;
}

void *__wrap_malloc(size_t size)
{
  return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
  return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
  int smaller = old && size <= malloc_usable_size(old), needed_before = heap.needed;
  if (fails()) {
    if (smaller) heap.needed = needed_before, heap.shrinking = 1;
    return NULL;
  }
  void *memory = __real_realloc(old, size);
  if (!old) counted(memory);
  return memory;
}

char *__wrap_strdup(const char *text)
{
  char *copy = __wrap_malloc(strlen(text) + 1);
  return copy ? strcpy(copy, text) : NULL;
}

char *__wrap_realpath(const char *path, char *room)
{
  if (fails()) return errno = ENOMEM, NULL;
  return counted(__real_realpath(path, room));
}

void __wrap_free(void *memory)
{
  heap.live -= memory != NULL;
  __real_free(memory);
}
