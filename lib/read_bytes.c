/* Where the bytes of a matrix file come from: the file itself, gzip inside it, a member of a tar archive inside that. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "read_input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if HAVE_ZLIB
#include <zlib.h>
#endif

macko_source *macko_new_source(macko_input *in)
{
  macko_source *source = &in->sources[in->nsources];
  source->ahead = malloc(MACKO_AHEAD);
  if (!source->ahead) {
    macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory for a buffer of %d bytes", MACKO_AHEAD);
    return NULL;
  }
  source->below = in->nsources ? source - 1 : NULL;
  in->nsources++;
  return source;
}

size_t macko_peek(macko_input *in, macko_source *source, size_t want)
{
  size_t left = source->end - source->begin;
  if (left >= want) return left;
  memmove(source->ahead, source->ahead + source->begin, left);
  source->begin = 0, source->end = left;
  while (source->end < want) {
    int64_t got = source->pull(in, source, source->ahead + source->end, MACKO_AHEAD - source->end);
    if (got <= 0) break;
    source->end += (size_t)got;
  }
  return source->end;
}

int64_t macko_take(macko_input *in, macko_source *source, void *to, size_t room)
{
  size_t left = source->end - source->begin;
  if (!left) return source->pull(in, source, to, room);
  if (left > room) left = room;
  memcpy(to, source->ahead + source->begin, left);
  source->begin += left;
  return (int64_t)left;
}

static int64_t pull_file(macko_input *in, macko_source *source, void *to, size_t room)
{
  ssize_t got;
  (void)source;
  do got = read(in->file, to, room);
  while (got < 0 && errno == EINTR);
  if (got < 0) macko_input_fail(in, MACKO_IO, "cannot be read: %s", strerror(errno));
  else in->file_done += got;
  return got;
}

macko_status macko_push_file(macko_input *in)
{
  struct stat facts;
  macko_source *source = macko_new_source(in);
  if (!source) return in->status;
  source->pull = pull_file;
  in->file = open(in->path, O_RDONLY | O_CLOEXEC);
  if (in->file < 0) return macko_input_fail(in, MACKO_IO, "cannot be opened: %s", strerror(errno));
  if (!fstat(in->file, &facts) && S_ISREG(facts.st_mode)) in->file_size = facts.st_size;
  return MACKO_OK;
}

#if HAVE_ZLIB

typedef struct {
  z_stream z;
  int in_member; /* a gzip file is a row of members */
} gzip_state;

static int starts_gzip(macko_input *in, macko_source *source)
{
  return macko_peek(in, source, 2) >= 2 && source->ahead[source->begin] == 0x1f && source->ahead[source->begin + 1] == 0x8b;
}

static int64_t gzip_fails(macko_input *in, const char *why)
{
  macko_input_fail(in, MACKO_PARSE, "damaged gzip data near byte %lld of the file: %s", (long long)in->file_done, why);
  return -1;
}

static int64_t pull_gzip(macko_input *in, macko_source *source, void *to, size_t room)
{
  gzip_state *state = source->state;
  macko_source *below = source->below;
  state->z.next_out = to, state->z.avail_out = (uInt)room;
  while (state->z.avail_out == room) {
    if (!state->in_member) {
      /* What follows the last member and is none itself is padding, as for gzip. */
      if (!starts_gzip(in, below)) return in->status ? -1 : 0;
      inflateReset(&state->z);
      state->in_member = 1;
    }
    if (!macko_peek(in, below, 1)) return in->status ? -1 : gzip_fails(in, "it ends too early");
    state->z.next_in = below->ahead + below->begin, state->z.avail_in = (uInt)(below->end - below->begin);
    int result = inflate(&state->z, Z_NO_FLUSH);
    below->begin = below->end - state->z.avail_in;
    if (result == Z_STREAM_END) state->in_member = 0;
    else if (result != Z_OK) return gzip_fails(in, state->z.msg ? state->z.msg : zError(result));
  }
  return (int64_t)(room - state->z.avail_out);
}

static void close_gzip(macko_source *source)
{
  inflateEnd(&((gzip_state *)source->state)->z);
  free(source->state);
}

static macko_status push_gzip(macko_input *in)
{
  macko_source *source = macko_new_source(in);
  gzip_state *state = calloc(1, sizeof *state);
  enum { GZIP_HEADER = 16 };
  if (!source || !state || inflateInit2(&state->z, GZIP_HEADER + MAX_WBITS) != Z_OK) {
    free(state);
    return macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory to unpack gzip");
  }
  source->pull = pull_gzip, source->close = close_gzip, source->state = state;
  return MACKO_OK;
}

#else

static macko_status push_gzip(macko_input *in)
{
  return macko_input_fail(in, MACKO_UNSUPPORTED, "is packed by gzip, and this build of macko lacks zlib");
}

#endif

macko_status macko_push_unpackers(macko_input *in)
{
  const macko_source *file = &in->sources[0];
  if (macko_peek(in, &in->sources[0], 2) >= 2 && file->ahead[file->begin] == 0x1f && file->ahead[file->begin + 1] == 0x8b)
    push_gzip(in);
  return in->status;
}
