#!/bin/bash
# A reader of .macko files that was written from doc/formats/container.md alone reads the golden files.
for python in python3 /usr/bin/python3 ''; do
  [ -n "$python" ] || { echo "SKIP: no python3 with NumPy (Debian package: python3-numpy)"; exit 77; }
  $python -c 'import numpy' 2>/dev/null && break
done
golden=${srcdir:-.}/test/golden/container
set -- "$golden"/*.macko
[ $# -ge 7 ] || { echo "FAIL: only $# golden files"; exit 1; }
exec $python -B "${srcdir:-.}/test/lib/read_container.py" "$golden/matrix.mtx" "$@"
