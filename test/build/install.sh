#!/bin/sh
# make install tells the loader of the new libraries, so that the installed programs start; nothing of that happens for a package
# in the making (DESTDIR).
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
printf '#!/bin/sh\necho called >>"%s/calls"\n' "$dir" >"$dir/ldconfig" && chmod +x "$dir/ldconfig" || exit 1
PATH=$dir:$PATH
hook() {
  ${MAKE:-make} --no-print-directory install-exec-hook "$@" >"$dir/text" 2>&1 || { cat "$dir/text"; echo "FAIL: $*"; exit 1; }
}
hook DESTDIR="$dir/package"
[ ! -e "$dir/calls" ] || { echo "FAIL: a package's install changes the machine's loader"; exit 1; }
hook DESTDIR=
[ -e "$dir/calls" ] || { echo "FAIL: the loader does not learn of the libraries"; exit 1; }
printf '#!/bin/sh\nexit 1\n' >"$dir/ldconfig" # an install into a home folder
hook DESTDIR=
exit 0
