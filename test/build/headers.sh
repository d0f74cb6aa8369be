#!/bin/sh
# Programs in C89 and C++98 can include the headers, without a warning; macko.h needs no more than stdint.h of later standards.
src=${srcdir:-.}
${CXX:-c++} --version >/dev/null 2>&1 || { echo "SKIP: no C++ compiler"; exit 77; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
status=0
for header in lib/macko.h cuda/macko_cuda.h; do
  printf '#include "%s"\nint main(void) { macko_status s = MACKO_OK; return (int)s; }\n' "${header##*/}" | tee "$work/use.c" >"$work/use.cc"
  ${CC:-cc} -std=c89 -pedantic -Wall -Wextra -Werror -Wno-long-long -I"$src/lib" -I"$src/cuda" -fsyntax-only "$work/use.c" || status=1
  ${CXX:-c++} -std=c++98 -pedantic -Wall -Wextra -Werror -Wno-long-long -I"$src/lib" -I"$src/cuda" -fsyntax-only "$work/use.cc" || status=1
done
exit $status
