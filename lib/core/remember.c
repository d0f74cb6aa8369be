/* What was measured is remembered from one run to the next, as FFTW does with its wisdom: a line a choice, in a file of the
 * user's cache. A line that is not whole is passed over; of two with one key the later one counts. */
#include "core/measure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes of a line with its tab, newline and 0, and of the longest path. */
enum { LINE = MACKO_KEY_LENGTH + MACKO_CHOICE_LENGTH + 2, PATH = 4096 };

/* The tab ends the key. Keys have tabs themselves, but a key is compared in full length. */
static const char separator = '\t';

/* The first processor stands for all. */
void macko_name_processor(char name[128])
{
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  snprintf(name, 128, "processor");
  while (file && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (strncmp(line, "model name", 10) || !colon) continue;
    line[strcspn(line, "\n")] = 0;
    snprintf(name, 128, "%.120s", colon + 1 + strspn(colon + 1, " \t"));
    break;
  }
  if (file) fclose(file);
}

/* Writes the path of the file and gives 1, or 0 where the environment names no place for it or its folders, which are made where
 * that is asked for, cannot be. Relative paths are passed over, as the XDG rules ask. */
static int find_file(char path[PATH], int with_folders)
{
  const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  int own = cache && cache[0] == '/', used;
  if (!own && !(home && home[0] == '/')) return 0;
  used = snprintf(path, PATH, "%s%s", own ? cache : home, own ? "" : "/.cache");
  if (used > PATH - 20) return 0;
  if (with_folders && mkdir(path, 0700) && errno != EEXIST) return 0;
  strcat(path, "/macko");
  if (with_folders && mkdir(path, 0700) && errno != EEXIST) return 0;
  strcat(path, "/measured");
  return 1;
}

/* All of the file is read, because a later line replaces an earlier one of the same key. */
int macko_recall(const char *key, char choice[MACKO_CHOICE_LENGTH])
{
  char path[PATH], line[LINE + 2];
  size_t length = strlen(key);
  int found = 0;
  FILE *file = find_file(path, 0) ? fopen(path, "r") : NULL;
  while (file && fgets(line, sizeof line, file)) {
    size_t end = strcspn(line, "\n");
    if (line[end] != '\n' || strncmp(line, key, length) || line[length] != separator) continue;
    line[end] = 0;
    if (end - length > MACKO_CHOICE_LENGTH) continue;
    strcpy(choice, line + length + 1);
    found = 1;
  }
  if (file) fclose(file);
  return found;
}

/* The line goes to the end of the file in one write, so that lines of several processes do not mix; the file is never read and
 * written anew. */
int macko_remember(const char *key, const char *choice)
{
  char path[PATH], line[LINE];
  int length = snprintf(line, sizeof line, "%s%c%s\n", key, separator, choice);
  if (length >= LINE || !find_file(path, 1)) return 0;
  int file = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return 0;
  int kept = write(file, line, (size_t)length) == length;
  return close(file) == 0 && kept;
}
