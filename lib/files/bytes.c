/* Where the bytes of a matrix file come from: the file itself, gzip inside it, a member of a tar archive inside that. */
#if HAVE_CONFIG_H
#include <config.h>
#endif

#include "files/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#if HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif
#if HAVE_ZLIB
#include <zlib.h>
#endif

/* Sources are in one array, each on top of the one before, so that `below` is the one before it. At most MACKO_SOURCES are made:
 * the file, gzip and tar. */
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

/* What is left is moved to the front of the buffer first, so that there is room for MACKO_AHEAD bytes from there on. */
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

/* What was only looked at comes first. After it bytes go straight to the caller, not through the buffer. */
int64_t macko_take(macko_input *in, macko_source *source, void *to, size_t room)
{
  size_t left = source->end - source->begin;
  if (!left) return source->pull(in, source, to, room);
  if (left > room) left = room;
  memcpy(to, source->ahead + source->begin, left);
  source->begin += left;
  return (int64_t)left;
}

/* This is `pull` of the file itself; it counts the bytes for progress. */
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

/* The size stays 0, which says that it is not known, for what is no regular file. */
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

/* Tells whether the bytes ahead begin a member of a gzip file. */
static int starts_gzip(macko_input *in, macko_source *source)
{
  return macko_peek(in, source, 2) >= 2 && source->ahead[source->begin] == 0x1f && source->ahead[source->begin + 1] == 0x8b;
}

#if HAVE_ZLIB

/* The state of a gzip source. */
typedef struct {
  z_stream z;
  int in_member; /* 1: a member has begun and not ended; a gzip file is a row of members */
} gzip_state;

/* Records that the data are damaged, and about where in the file; gives -1. */
static int64_t gzip_fails(macko_input *in, const char *why)
{
  macko_input_fail(in, MACKO_PARSE, "damaged gzip data near byte %lld of the file: %s", (long long)in->file_done, why);
  return -1;
}

/* Ends a gzip file behind its last member: zeros may follow, which fill blocks of a tape as gzip allows. Other bytes would be lost
 * unseen, as a second file would that was joined to the first and damaged. Gives 0, or -1 after a failure. */
static int64_t end_gzip(macko_input *in, macko_source *below)
{
  while (macko_peek(in, below, 1)) {
    for (size_t i = below->begin; i < below->end; i++)
      if (below->ahead[i]) return gzip_fails(in, "what follows its last member is neither another one nor zeros");
    below->begin = below->end;
  }
  return in->status ? -1 : 0;
}

/* This is `pull` of gzip: it unpacks until there is at least one byte or the end. zlib reads from the buffer of the source below,
 * and what it leaves there is the start of the next member. */
static int64_t pull_gzip(macko_input *in, macko_source *source, void *to, size_t room)
{
  gzip_state *state = source->state;
  macko_source *below = source->below;
  state->z.next_out = to, state->z.avail_out = (uInt)room;
  while (state->z.avail_out == room) {
    if (!state->in_member) {
      if (!starts_gzip(in, below)) return in->status ? -1 : end_gzip(in, below);
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

/* This is `close` of gzip. */
static void close_gzip(macko_source *source)
{
  inflateEnd(&((gzip_state *)source->state)->z);
  free(source->state);
}

/* Puts a gzip source on top. */
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

#if HAVE_LIBARCHIVE

/* The state of a tar source. */
typedef struct {
  struct archive *archive;
  macko_input *in;
  macko_source *below;
} tar_state;

/* Hands libarchive the bytes that the source below has ahead, without a copy: it is done with one piece before it asks for the
 * next. 0 bytes are the end. */
static la_ssize_t feed_archive(struct archive *archive, void *context, const void **bytes)
{
  tar_state *state = context;
  macko_source *below = state->below;
  size_t count = macko_peek(state->in, below, 1);
  if (state->in->status) {
    archive_set_error(archive, EIO, "the archive cannot be read");
    return -1;
  }
  *bytes = below->ahead + below->begin;
  below->begin = below->end;
  return (la_ssize_t)count;
}

/* Records what libarchive says of the archive; gives -1. A failure of the sources below was recorded before and stays. */
static int64_t archive_fails(macko_input *in, struct archive *archive)
{
  const char *why = archive_error_string(archive);
  macko_input_fail(in, MACKO_PARSE, "damaged tar archive: %s", why ? why : "no reason given");
  return -1;
}

/* This is `pull` of tar: bytes of the member that was found. */
static int64_t pull_tar(macko_input *in, macko_source *source, void *to, size_t room)
{
  tar_state *state = source->state;
  la_ssize_t got = archive_read_data(state->archive, to, room);
  return got < 0 ? archive_fails(in, state->archive) : got;
}

/* This is `close` of tar. */
static void close_tar(macko_source *source)
{
  tar_state *state = source->state;
  archive_read_free(state->archive);
  free(state);
}

/* Tells whether a member is the matrix: NAME/NAME.mtx or NAME/NAME.rb, in any folder. Other members are right-hand sides,
 * coordinates and the like. */
static int is_the_matrix(const char *member)
{
  const char *slash = strrchr(member, '/'), *dot = strrchr(member, '.');
  if (!slash || !dot || dot < slash || (strcmp(dot, ".mtx") && strcmp(dot, ".rb"))) return 0;
  ptrdiff_t length = dot - slash - 1;
  if (slash - member < length || strncmp(slash - length, slash + 1, (size_t)length)) return 0;
  return slash - length == member || slash[-length - 1] == '/';
}

/* Goes through the archive up to the matrix, and adds its name to that of the input. A link is refused, as its bytes are
 * elsewhere. */
static macko_status find_member(macko_input *in, struct archive *archive)
{
  struct archive_entry *entry;
  char quote[MACKO_QUOTE] = "";
  int code;
  while ((code = archive_read_next_header(archive, &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN) {
    const char *member = archive_entry_pathname(entry);
    if (member && is_the_matrix(member)) {
      size_t length = strlen(in->name);
      snprintf(in->name + length, sizeof in->name - length, "/%s", macko_quote_line(quote, member));
      if (archive_entry_filetype(entry) == AE_IFREG && !archive_entry_hardlink(entry)) return MACKO_OK;
      return macko_input_fail(in, MACKO_PARSE, "this member of the archive is a link or a folder, not a file");
    }
    if (member && !quote[0]) macko_quote_line(quote, member);
  }
  if (code != ARCHIVE_EOF) archive_fails(in, archive);
  return macko_input_fail(in, MACKO_PARSE, "the archive has no NAME/NAME.mtx and no NAME/NAME.rb; its first member is '%s'",
                          quote);
}

/* Puts a tar source on top. The state belongs to the source from where `close` is set, which frees the archive, too. */
static macko_status push_tar(macko_input *in)
{
  macko_source *source = macko_new_source(in);
  tar_state *state = calloc(1, sizeof *state);
  struct archive *archive = archive_read_new();
  if (!source || !state || !archive) {
    free(state), archive_read_free(archive);
    return macko_input_fail(in, MACKO_OUT_OF_MEMORY, "no memory to unpack a tar archive");
  }
  *state = (tar_state){archive, in, source->below};
  source->pull = pull_tar, source->close = close_tar, source->state = state;
  archive_read_support_format_tar(archive);
  if (archive_read_open(archive, state, NULL, feed_archive, NULL) != ARCHIVE_OK) {
    archive_fails(in, archive);
    return in->status;
  }
  return find_member(in, archive);
}

#else

static macko_status push_tar(macko_input *in)
{
  return macko_input_fail(in, MACKO_UNSUPPORTED, "is a tar archive, and this build of macko lacks libarchive");
}

#endif

/* Tells whether text ends so, in small or capital letters. */
static int ends_with(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n >= m && !strcasecmp(text + n - m, end);
}

/* Tells whether the bytes ahead are a tar archive. The content tells; the suffix does so only of archives whose content does not,
 * empty and damaged ones among them. */
static int starts_tar(macko_input *in, macko_source *source)
{
  enum { MAGIC = 257, HEADER = 512 };
  if (ends_with(in->path, ".tar") || ends_with(in->path, ".tar.gz") || ends_with(in->path, ".tgz")) return 1;
  return macko_peek(in, source, HEADER) >= HEADER && !memcmp(source->ahead + source->begin + MAGIC, "ustar", 5);
}

/* Refuses what is packed in another way or is no text of bytes: to say what it is helps more than to find no banner. */
static void refuse_other_kinds(macko_input *in, macko_source *source)
{
  static const struct {
    const char *start, *text;
  } kinds[] = {{"PK\3\4", "a zip archive (macko-convert converts .npz of SciPy)"},
               {"BZh91AY&SY", "packed by bzip2"}, {"\xfd" "7zXZ", "packed by xz"},
               {"\x28\xb5\x2f\xfd", "packed by zstd"}, {"\x1f\x8b", "packed by gzip more than once"},
               {"\x89HDF", "an HDF5 file (macko-convert converts those of Binsparse)"},
               {"\x89MACKO", "a .macko file inside a pipe or an archive"}, {"MATLAB 5.0 MAT-file", "a MATLAB file"},
               {"\xff\xfe", "text in UTF-16"}, {"\xfe\xff", "text in UTF-16"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    size_t length = strlen(kinds[i].start);
    if (macko_peek(in, source, length) >= length && !memcmp(source->ahead + source->begin, kinds[i].start, length))
      macko_input_fail(in, MACKO_UNSUPPORTED, "is %s, which is not read", kinds[i].text);
  }
}

/* Skips the mark that some editors put before UTF-8. */
static void skip_byte_order_mark(macko_input *in, macko_source *source)
{
  if (macko_peek(in, source, 3) >= 3 && !memcmp(source->ahead + source->begin, "\xef\xbb\xbf", 3)) source->begin += 3;
}

/* gzip is looked for first, as archives are packed by it; a file packed twice is refused. */
macko_status macko_push_unpackers(macko_input *in)
{
  if (starts_gzip(in, &in->sources[0])) push_gzip(in);
  if (!in->status && starts_tar(in, &in->sources[in->nsources - 1])) push_tar(in);
  if (!in->status) refuse_other_kinds(in, &in->sources[in->nsources - 1]);
  if (!in->status) skip_byte_order_mark(in, &in->sources[in->nsources - 1]);
  return in->status;
}
