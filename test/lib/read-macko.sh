#!/bin/bash
# A reader of format macko that was written from doc/formats/macko.md alone reads the golden files and the page's examples.
command -v python3 >/dev/null || { echo "SKIP: no python3"; exit 77; }
golden=${srcdir:-.}/test/golden/macko read="python3 -B ${srcdir:-.}/test/lib/read_macko.py" files=0
for matrix in "$golden"/*.mtx; do
  name=${matrix%.mtx}
  $read "$matrix" "$name"-*.txt || { echo "FAIL: ${name##*/}"; exit 1; }
  files=$((files + $(ls "$name"-*.txt | wc -l)))
done
$read --page "${srcdir:-.}/doc/formats/macko.md" || { echo "FAIL: the examples of macko.md"; exit 1; }
echo "$files files read"
[ "$files" -ge 92 ]
