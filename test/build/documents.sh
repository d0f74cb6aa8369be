#!/bin/bash
# Documents name what the lists have: every format, option and choice is in README's tables and on the manual pages.
# Pages that are installed link to installed ones.
cd "${srcdir:-.}" || exit 1
bad=0
say() { echo "$1"; bad=1; }
formats() { sed -n 's/^MACKO_FORMAT([A-Z0-9]*, \([a-z0-9]*\),.*/\1/p' lib/formats.def; }
options() { sed -n 's/^MACKO_[A-Z_]*OPTION(\([a-z_]*\),.*/\1/p' lib/options.def | grep -v '^target$'; }
choices() { # OPTION
  local list
  list=$(sed -n "s/^MACKO_[A-Z_]*OPTION($1, \([A-Z_]*\),.*/\1/p" lib/options.def)
  [ "$1" != format ] || formats
  sed -n "s/^MACKO_[CN][A-Z]*($list, [A-Z0-9]*, \([a-z0-9]*\),.*/\1/p" lib/options.def
}
[ "$(formats | wc -l)" -ge 3 ] && [ "$(options | wc -l)" -ge 6 ] || say "formats and options are not found in their lists"

for choice in $(formats) $(choices values); do
  grep -q "^|.*\`$choice\`.*|.*|" README.md || say "no table of README.md has $choice"
done
for option in $(options); do
  [ "$(choices "$option" | wc -l)" -ge 2 ] || say "the choices of $option are not found in options.def"
  [ "$(sed -n "s/^\.BI .-mat_macko_$option \" \(.*\)\"/\1/p" doc/macko-solve.1 | tr '|' '\n' | sort)" = \
    "$(choices "$option" | sort)" ] || say "doc/macko-solve.1 has other choices of $option: $(choices "$option" | paste -s -d' ')"
done
for option in $(options) target; do
  given=$(sed -n "s/^\.BI .-.-$option \" \(.*\)\"/\1/p" doc/macko-convert.1)
  case $given in
  *"|"*) [ "$(echo "$given" | tr '|' '\n' | sort)" = "$(choices "$option" | sort)" ] || say "macko-convert.1 has other choices of $option" ;;
  "") say "macko-convert.1 lacks --$option" ;;
  esac
done
named=$(sed -n '/\\-\\-encodings/,/^\.TP/s/^Encodings to measure, separated by commas: \(.*\), each with.*/\1/p' doc/macko-bench.1)
for choice in $(choices format) $(choices layout); do
  echo "$named" | grep -qw "$choice" || say "doc/macko-bench.1 does not name $choice among the encodings"
done

# A page that is installed links to others that are, whose place beside it is the same there.
installed=$(sed -n '/^dist_formats_DATA/,/[^\\]$/p; /^dist_doc_DATA/,/[^\\]$/p' examples/Makefile.inc | grep -o 'doc/[^ ]*\.md')
[ "$(echo "$installed" | wc -l)" -ge 8 ] || say "examples/Makefile.inc does not list the pages that are installed"
for page in $installed; do
  for link in $(grep -oE '\]\([^)]+' "$page" | sed 's/^](//; s/#.*//' | grep -v '^https\?:'); do
    target=$(realpath -m --relative-to=. "${page%/*}/$link")
    echo "$installed" | grep -qxF "$target" || say "$page is installed and links to $link, which is not"
  done
done
exit $bad
