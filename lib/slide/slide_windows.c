/* Which patterns windows cover: Z entries of every L columns by windows of N columns with M entries, each N - M behind the one
 * before (SlideSparse, appendix). */
#include "core/format.h"

/* Checks that Z:L is a pattern (INVALID_ARGUMENT), M:N a window of it (INVALID_ARGUMENT), and that the windows end with the block
 * (UNSUPPORTED). L is limited, because every run of windows is looked at. */
static macko_status check_numbers(int64_t z, int64_t l, int64_t m, int64_t n, macko_error *err)
{
  const int64_t most = 1 << 12;
  if (l < 1 || l > most || z < 1 || z > l)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%lld:%lld is no pattern: it has 1 to L entries of L columns, at most %lld",
                      (long long)z, (long long)l, (long long)most);
  if (n < 2 || n > l || m < 1 || m >= n)
    return macko_fail(err, MACKO_INVALID_ARGUMENT, "%lld:%lld is no window of a block of %lld columns: it has 1 to N - 1 entries "
                      "of N columns, at most those of the block", (long long)m, (long long)n, (long long)l);
  if ((l - n) % (n - m))
    return macko_fail(err, MACKO_UNSUPPORTED, "windows of %lld columns, each %lld behind the one before, do not end with a block "
                      "of %lld columns", (long long)n, (long long)(n - m), (long long)l);
  return MACKO_OK;
}

/* Sets *from .. *to - 1 to the columns that lie in no other windows than first .. last: their entries have to find room there. It
 * may be that *to is not above *from. */
static void columns_within(const macko_windows *w, int64_t n, int64_t l, int64_t first, int64_t last, int64_t *from, int64_t *to)
{
  *from = first ? (first - 1) * w->stride + n : 0;
  *to = last + 1 < w->windows ? (last + 1) * w->stride : l;
}

/* From the left every window takes the first entries that it can: as windows begin and end in the same order, nothing places
 * more. So all is placed wherever entries are, if the columns that a run of windows has for itself never hold more than they
 * do. */
macko_status macko_check_windows(int64_t z, int64_t l, int64_t m, int64_t n, macko_windows *windows, macko_error *err)
{
  if (!windows) return macko_fail(err, MACKO_INVALID_ARGUMENT, "windows must not be NULL");
  macko_status s = check_numbers(z, l, m, n, err);
  if (s) return s;
  macko_windows w = {.stride = n - m, .windows = (l - n) / (n - m) + 1};
  w.expansion = (double)(w.windows * n) / (double)l, w.bound = (double)(z * n) / (double)(l * m);
  for (int64_t count = 1; count <= w.windows; count++)
    for (int64_t first = 0, from, to; first + count <= w.windows; first++) {
      columns_within(&w, n, l, first, first + count - 1, &from, &to);
      int64_t entries = to - from < z ? to - from : z;
      if (entries > count * m)
        return macko_fail(err, MACKO_UNSUPPORTED, "%lld:%lld on %lld:%lld: columns %lld to %lld of a block can have %lld entries, "
                          "and the windows that they are in hold %lld", (long long)z, (long long)l, (long long)m, (long long)n,
                          (long long)from, (long long)to - 1, (long long)entries, (long long)(count * m));
    }
  *windows = w;
  return MACKO_OK;
}
