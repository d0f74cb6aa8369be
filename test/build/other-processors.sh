#!/bin/sh
# The library compiles without a warning for processors other than x86-64, which have no loops of their own: no source may call
# what only that has.
src=${srcdir:-.}
status=0 count=0
for source in "$src"/lib/*/*.c; do
  count=$((count + 1))
  ${CC:-cc} -fsyntax-only -DMACKO_WITHOUT_X86_64 -DHAVE_CONFIG_H -I. -I"$src/lib" -Wall -Wextra -Werror "$source" || status=1
done
[ "$count" -gt 50 ] || { echo "only $count sources in $src/lib"; status=1; }
exit $status
