/* Files, gzip files (zlib) and the .tar.gz archives of the SuiteSparse collection (libarchive) as one stream of lines. */
#include "input.h"

#ifdef HAVE_CONFIG_H
#include "config.h"
#endif
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_LIBARCHIVE
#include <archive.h>
#include <archive_entry.h>
#endif

/* ---- plain files ---- */

static int64_t plain_read(void *handle, void *buffer, int64_t size)
{
  size_t count = fread(buffer, 1, (size_t)size, handle);
  return count == 0 && ferror((FILE *)handle) ? -1 : (int64_t)count;
}

static void plain_close(void *handle)
{
  fclose(handle);
}

static void plain_explain(void *handle, char *text, size_t size)
{
  (void)handle;
  snprintf(text, size, "%s", strerror(errno));
}

static int64_t plain_position(void *handle)
{
  return ftell(handle);
}

static macko_status open_plain(macko_input *in, macko_error *err)
{
  in->handle = fopen(in->path, "rb");
  if (!in->handle) return macko_fail(err, MACKO_IO, "%s: %s", in->path, strerror(errno));
  in->read = plain_read, in->close = plain_close, in->explain = plain_explain, in->position = plain_position;
  return MACKO_OK;
}

/* ---- gzip ---- */

#ifdef HAVE_ZLIB
static int64_t gzip_read(void *handle, void *buffer, int64_t size)
{
  int count = gzread(handle, buffer, (unsigned)size), code;
  if (count > 0) return count;
  gzerror(handle, &code); /* a file cut short reads as 0 bytes with an error */
  return code == Z_OK || code == Z_STREAM_END ? count : -1;
}

static void gzip_close(void *handle)
{
  gzclose(handle);
}

static void gzip_explain(void *handle, char *text, size_t size)
{
  int code;
  snprintf(text, size, "damaged gzip data: %s", gzerror(handle, &code));
}

static int64_t gzip_position(void *handle)
{
  return gzoffset(handle);
}
#endif

static macko_status open_gzip(macko_input *in, macko_error *err)
{
#ifdef HAVE_ZLIB
  errno = 0;
  in->handle = gzopen(in->path, "rb");
  if (!in->handle) return macko_fail(err, MACKO_IO, "%s: %s", in->path, errno ? strerror(errno) : "no memory");
  gzbuffer(in->handle, 1 << 17);
  in->read = gzip_read, in->close = gzip_close, in->explain = gzip_explain, in->position = gzip_position;
  return MACKO_OK;
#else
  return macko_fail(err, MACKO_UNSUPPORTED, "%s: this build cannot unpack gzip (it was made without zlib)", in->path);
#endif
}

/* ---- archives ---- */

#ifdef HAVE_LIBARCHIVE
static int64_t archive_text_read(void *handle, void *buffer, int64_t size)
{
  return archive_read_data(handle, buffer, (size_t)size);
}

static void archive_close(void *handle)
{
  archive_read_free(handle);
}

static void archive_explain(void *handle, char *text, size_t size)
{
  const char *why = archive_error_string(handle);
  snprintf(text, size, "damaged archive: %s", why ? why : "unknown reason");
}

static int64_t archive_position(void *handle)
{
  return archive_filter_bytes(handle, -1);
}

/* NAME/NAME.mtx or NAME/NAME.rb: other members of the archive are right-hand sides, coordinates and the like. */
static int is_the_matrix(const char *member)
{
  const char *slash = strrchr(member, '/'), *base = slash ? slash + 1 : member, *dot = strrchr(base, '.');
  if (!slash || !dot || (strcmp(dot, ".mtx") && strcmp(dot, ".rb"))) return 0;
  size_t length = (size_t)(dot - base);
  return (size_t)(slash - member) >= length && !strncmp(slash - length, base, length) &&
         (slash - length == member || slash[-(long)length - 1] == '/');
}

static macko_status find_member(macko_input *in, macko_error *err)
{
  struct archive_entry *entry;
  int code;
  while ((code = archive_read_next_header(in->handle, &entry)) == ARCHIVE_OK || code == ARCHIVE_WARN)
    if (archive_entry_pathname(entry) && is_the_matrix(archive_entry_pathname(entry))) return MACKO_OK;
  if (code == ARCHIVE_EOF) return macko_fail(err, MACKO_PARSE, "%s: the archive has no NAME/NAME.mtx or NAME/NAME.rb", in->path);
  return macko_fail(err, MACKO_IO, "%s: damaged archive: %s", in->path, archive_error_string(in->handle));
}
#endif

static macko_status open_archive(macko_input *in, macko_error *err)
{
#ifdef HAVE_LIBARCHIVE
  in->handle = archive_read_new();
  if (!in->handle) return macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory to unpack", in->path);
  in->read = archive_text_read, in->close = archive_close, in->explain = archive_explain, in->position = archive_position;
  archive_read_support_filter_all(in->handle);
  archive_read_support_format_tar(in->handle);
  if (archive_read_open_filename(in->handle, in->path, 1 << 17) != ARCHIVE_OK)
    return macko_fail(err, MACKO_IO, "%s: %s", in->path, archive_error_string(in->handle));
  return find_member(in, err);
#else
  return macko_fail(err, MACKO_UNSUPPORTED, "%s: this build cannot unpack tar archives (it was made without libarchive)", in->path);
#endif
}

/* ---- lines ---- */

static int ends_with(const char *path, const char *end)
{
  size_t n = strlen(path), m = strlen(end);
  return n >= m && !strcmp(path + n - m, end);
}

macko_status macko_open_input(const char *path, const macko_progress *progress, macko_input *in, macko_error *err)
{
  struct stat facts;
  *in = (macko_input){.path = path, .progress = progress};
  if (stat(path, &facts)) return macko_fail(err, MACKO_IO, "%s: %s", path, strerror(errno));
  if (S_ISDIR(facts.st_mode)) return macko_fail(err, MACKO_IO, "%s: is a directory", path);
  in->total = facts.st_size;
  macko_status s = ends_with(path, ".tar.gz") || ends_with(path, ".tgz") || ends_with(path, ".tar") ? open_archive(in, err)
                   : ends_with(path, ".gz") ? open_gzip(in, err) : open_plain(in, err);
  if (!s) {
    in->buffer = malloc(MACKO_INPUT_BUFFER + 1);
    if (!in->buffer) s = macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory for a buffer", path);
  }
  if (s) macko_close_input(in);
  return s;
}

void macko_close_input(macko_input *in)
{
  if (in->handle) in->close(in->handle);
  free(in->buffer);
  in->handle = NULL, in->buffer = NULL;
}

macko_status macko_fail_line(const macko_input *in, macko_error *err, const char *sentence, ...)
{
  char text[300];
  va_list args;
  va_start(args, sentence);
  vsnprintf(text, sizeof text, sentence, args);
  va_end(args);
  return macko_fail(err, MACKO_PARSE, "%s:%lld: %s", in->path, (long long)in->line, text);
}

static macko_status refill(macko_input *in, macko_error *err)
{
  char why[200];
  memmove(in->buffer, in->buffer + in->begin, (size_t)(in->end - in->begin));
  in->end -= in->begin, in->begin = 0;
  int64_t count = in->read(in->handle, in->buffer + in->end, MACKO_INPUT_BUFFER - in->end);
  if (count < 0) {
    in->explain(in->handle, why, sizeof why);
    return macko_fail(err, MACKO_IO, "%s:%lld: %s", in->path, (long long)in->line + 1, why);
  }
  if (count == 0) in->at_end = 1;
  in->end += count;
  if (in->progress && in->progress->report) in->progress->report(in->progress->context, in->position(in->handle), in->total);
  return MACKO_OK;
}

macko_status macko_next_line(macko_input *in, char **line, macko_error *err)
{
  char *end;
  int64_t looked = 0;
  for (;;) {
    end = memchr(in->buffer + in->begin + looked, '\n', (size_t)(in->end - in->begin - looked));
    if (end || in->at_end) break;
    looked = in->end - in->begin;
    if (looked == MACKO_INPUT_BUFFER) {
      in->line++;
      return macko_fail_line(in, err, "the line is longer than %d bytes", MACKO_INPUT_BUFFER);
    }
    macko_status s = refill(in, err);
    if (s) return s;
  }
  *line = NULL;
  if (!end && in->begin == in->end) return MACKO_OK;
  if (!end) end = in->buffer + in->end;
  *line = in->buffer + in->begin;
  in->begin = end - in->buffer < in->end ? end - in->buffer + 1 : in->end;
  in->line++;
  *end = 0;
  if (memchr(*line, 0, (size_t)(end - *line))) return macko_fail_line(in, err, "a zero byte: this is no text file");
  if (end > *line && end[-1] == '\r') end[-1] = 0;
  return MACKO_OK;
}
