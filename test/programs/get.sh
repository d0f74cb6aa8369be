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
: >"$dir/log"
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
grep -q "cannot fetch $url/MM/Test/absent.tar.gz: curl: .*404" "$dir/text" || fail "the sentence is $(cat "$dir/text")"
[ "$(wc -l <"$dir/text")" = 1 ] || fail "not one sentence: $(cat "$dir/text")"
mkdir "$dir/taken" "$dir/taken/little.tar.gz"
"$get" --url="$url" --dir="$dir/taken" Test/little >"$dir/text" 2>&1 && fail "a directory passes for the archive"
grep -q "^macko-get: $dir/taken/little.tar.gz is there and is no file" "$dir/text" || fail "the sentence is $(cat "$dir/text")"
"$get" --url="$url" --dir="$dir/out" Test/broken 2>"$dir/text" && fail "a damaged archive was no failure"
grep -q "no archive with broken/broken.mtx" "$dir/text" || fail "the sentence is $(cat "$dir/text")"
head -c 150 "$dir/site/MM/Test/little.tar.gz" >"$dir/site/MM/Test/short.tar.gz" # a whole entry's name, and half of the rest
"$get" --url="$url" --dir="$dir/out" Test/short 2>"$dir/text" && fail "a truncated archive was no failure"
for wrong in nonsense "/nonsense" "Test/" "Test/a b" "Test/../x"; do
  "$get" --url "$url" --dir "$dir/out" "$wrong" 2>"$dir/text" && fail "'$wrong' was no failure"
  grep -q "^macko-get: '$wrong' is not GROUP/NAME" "$dir/text" || fail "the sentence on '$wrong' is $(cat "$dir/text")"
done
"$get" 2>"$dir/text" && fail "no matrix was no failure"
[ "$(wc -l <"$dir/text")" = 1 ] || fail "not one sentence: $(cat "$dir/text")"
"$get" --dir 2>"$dir/text" && fail "--dir without a value was no failure"
"$get" --url "$url" --dir "$dir/out" Test/little | grep -q "already" || fail "--dir DIR in two words"
grep -q "MACKO_VERSION_STRING \"$("$get" --version | cut -d' ' -f2)\"" "${srcdir:-.}/lib/macko.h" || fail "$("$get" --version)"
# Interrupted while the server is slow, it leaves nothing behind.
python3 -c 'import socket, time
s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1], flush=True)
c, _ = s.accept(); c.recv(999); c.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 9999\r\n\r\nhalf"); print("sent", flush=True); time.sleep(60)
' >"$dir/slow" 2>/dev/null &
slow=$!
for i in 1 2 3 4 5 6 7 8 9 10; do [ -s "$dir/slow" ] && break; sleep 0.3; done
timeout -s INT 2 "$get" --url "http://127.0.0.1:$(head -1 "$dir/slow")" --dir "$dir/out" Test/slow >/dev/null 2>&1 &&
  fail "an interrupted fetch was no failure"
kill $slow
grep -q sent "$dir/slow" || fail "the slow server was not asked"
[ "$(ls -A "$dir/out")" = little.tar.gz ] || fail "left behind: $(ls -A "$dir/out")"
if [ -x examples/spmv ]; then
  examples/spmv "$dir/out/little.tar.gz" | grep -q "sum of all entries: 7$" || fail "the archive does not read back"
fi
exit 0
