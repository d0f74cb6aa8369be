/* How much memory a test has. */
#ifndef TEST_MEMORY_H
#define TEST_MEMORY_H

#include <malloc.h>
#include <stddef.h>

/* Bytes that malloc has given out; 0 where a sanitizer's malloc does not tell. */
static inline size_t bytes_in_use(void)
{
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

#endif
