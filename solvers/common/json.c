/* Text and numbers as JSON. */
#include "common/json.h"

#include <math.h>

/* Returns how many bytes the UTF-8 character at text has, or 0 where there is none: a longer form than needed, a surrogate, or a
 * number beyond U+10FFFF (the Unicode standard, table 3-7). The end of the text ends a character too, as 0 continues none. */
static int utf8_bytes(const unsigned char *text)
{
  const unsigned char first = text[0];
  if (first < 0x80) return 1;
  const int bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  const unsigned char least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned char most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (!bytes || text[1] < least || text[1] > most) return 0;
  for (int i = 2; i < bytes; i++)
    if ((text[i] & 0xc0) != 0x80) return 0;
  return bytes;
}

/* Only a quote, a backslash and control characters have to be escaped; other characters go out as they are. */
void put_json_string(FILE *f, const char *text)
{
  putc('"', f);
  while (*text) {
    int bytes = utf8_bytes((const unsigned char *)text);
    if (!bytes) fputs("\\ufffd", f);
    else if (*text == '"' || *text == '\\') fprintf(f, "\\%c", *text);
    else if ((unsigned char)*text < 32) fprintf(f, "\\u%04x", *text);
    else fwrite(text, 1, (size_t)bytes, f);
    text += bytes ? bytes : 1;
  }
  putc('"', f);
}

/* 17 digits are enough to read the same double back. */
void put_json_number(FILE *f, const char *name, double value, const char *end)
{
  if (isfinite(value)) fprintf(f, "\"%s\": %.17g%s", name, value, end);
  else fprintf(f, "\"%s\": null%s", name, end);
}
