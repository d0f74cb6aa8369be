#!/bin/sh
# macko-get against a server on this machine.
get=${srcdir:-.}/solvers/macko-get
command -v curl >/dev/null || { echo "SKIP: no curl"; exit 77; }
command -v python3 >/dev/null || { echo "SKIP: no python3 to serve files"; exit 77; }
dir=$(mktemp -d) || exit 1
trap 'kill $server 2>/dev/null; rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; exit 1; }

mkdir -p "$dir/site/MM/Test/little" "$dir/little" "$dir/out"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n' >"$dir/little/little.mtx"
tar -C "$dir" -czf "$dir/site/MM/Test/little.tar.gz" little
echo "not an archive" >"$dir/site/MM/Test/broken.tar.gz"
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/site" 0 >"$dir/log" 2>&1 &
server=$!
for i in 1 2 3 4 5 6 7 8 9 10; do
  port=$(sed -n 's/.*port \([0-9]*\).*/\1/p' "$dir/log" | head -1)
  [ -n "$port" ] && break
  sleep 0.3
done
[ -n "$port" ] || fail "the server did not start"
url=http://127.0.0.1:$port

"$get" --url="$url" --dir="$dir/out" Test/little >"$dir/text" || fail "cannot fetch"
grep -q "little.tar.gz" "$dir/text" && tar -tzf "$dir/out/little.tar.gz" >/dev/null || fail "nothing usable came"
MACKO_GET_URL=$url "$get" --dir="$dir/out" Test/little | grep -q "already" || fail "fetched twice"
"$get" --url="$url" --dir="$dir/out" Test/absent 2>"$dir/text" && fail "an absent matrix was no failure"
grep -q "cannot fetch $url/MM/Test/absent.tar.gz" "$dir/text" || fail "the sentence is $(cat "$dir/text")"
"$get" --url="$url" --dir="$dir/out" Test/broken 2>"$dir/text" && fail "a damaged archive was no failure"
grep -q "no archive with broken/broken.mtx" "$dir/text" || fail "the sentence is $(cat "$dir/text")"
"$get" nonsense 2>"$dir/text" && fail "a name without group was no failure"
[ "$(ls -A "$dir/out")" = little.tar.gz ] || fail "left behind: $(ls -A "$dir/out")"
if [ -x examples/spmv ]; then
  examples/spmv "$dir/out/little.tar.gz" | grep -q "sum of all entries: 7$" || fail "the archive does not read back"
fi
exit 0
