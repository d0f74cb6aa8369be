#!/bin/bash
# quickstart where it cannot work, with stand-ins for the system's tools: it says why in one sentence, and changes nothing.
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
fail() { echo "FAIL: $*"; cat "$dir/text"; exit 1; }
tool() { printf '#!/bin/sh\n%s\n' "$2" >"$dir/bin/$1" && chmod +x "$dir/bin/$1"; }
mkdir "$dir/bin" "$dir/plain" "$dir/with space"
cp "$src/quickstart" "$dir/plain" && cp "$src/quickstart" "$dir/with space" || exit 1
tool apt-get "echo \"\$@\" >>'$dir/apt'; exit 100"
tool dpkg-query 'echo not-installed'
tool id 'echo 1000'
run() { # FOLDER STATUS SENTENCE ARGUMENTS...
  local folder=$1 want=$2 sentence=$3 got=0
  shift 3
  (cd "$dir/$folder" && PATH="$dir/bin:$PATH" bash ./quickstart "$@") >"$dir/text" 2>&1 || got=$?
  [ "$got" = "$want" ] || fail "exit status $got, not $want"
  grep -qF -e "$sentence" "$dir/text" || fail "no '$sentence'"
}
run plain 0 "usage: ./quickstart" --help
run plain 1 "'nonsense' has no meaning here" nonsense
run plain 1 "'more' has no meaning here" --with-cuda more
run "with space" 1 "cannot build in a folder whose name holds spaces"
[ -e "$dir/apt" ] && fail "something was installed before"
# Without root, and without apt: on with what is there, or the three commands that bring the rest.
three() { # COMMANDS...: each on a line of its own
  local command
  for command in "$@"; do grep -qxF "  $command" "$dir/text" || fail "no command '$command'"; done
  [ "$(grep -c '^  [a-z./]' "$dir/text")" = 3 ] || fail "not three commands"
}
tool pkg-config 'case $* in *--exists*) exit 1 ;; esac'
tool mpicc ':'
tool autoreconf 'exit 1' && tool automake ':' && tool libtoolize ':'
tool sudo 'echo "sudo: a password is required" >&2; exit 1'
run plain 1 "sudo is refused, and with it: apt-get install autoconf"
three 'petsc/build-petsc --prefix=$HOME/petsc' 'export PKG_CONFIG_PATH=$HOME/petsc/lib/pkgconfig:$PKG_CONFIG_PATH' ./quickstart
mkdir -p "$dir/petsc/arch/lib/pkgconfig" && : >"$dir/petsc/arch/lib/pkgconfig/PETSc.pc" || exit 1
PETSC_DIR=$dir/petsc run plain 1 "neither pkg-config nor PETSC_DIR knows a PETSc"
PETSC_DIR=$dir/petsc PETSC_ARCH=arch run plain 1 "going on with what is here"
grep -q "'autoreconf -fi' failed" "$dir/text" || fail "does not go on to autoreconf with PETSC_DIR"
tool pkg-config ':'
run plain 1 "going on with what is here"
grep -q "'autoreconf -fi' failed" "$dir/text" || fail "does not go on to autoreconf"
rm "$dir/plain/autoreconf.log"
mkdir "$dir/few"
for program in bash sh env id dirname sed grep awk cat nproc rm ls mkdir; do
  found=$(command -v $program) && ln -s "$found" "$dir/few/$program"
done
(cd "$dir/plain" && PATH=$dir/few "$dir/few/bash" ./quickstart) >"$dir/text" 2>&1 && fail "no tools, and all is well"
grep -q "this machine has no apt-get, and make pkg-config mpicc cc autoreconf automake libtoolize cannot be found" "$dir/text" ||
  fail "what is missing is not named"
conda="conda create -y -p ~/macko-tools -c conda-forge autoconf automake libtool make pkg-config compilers openmpi petsc"
three "$conda zlib libarchive jansson" \
  "conda activate ~/macko-tools" ./quickstart
[ -e "$dir/apt" ] && fail "apt-get was called"
tool sudo 'exec "$@"'
run plain 1 "apt-get could not install autoconf" # whose update failed too: the lists that are there may do
grep -q '^install .*petsc-dev' "$dir/apt" || fail "not tried with the lists that are there"
[ "$(ls "$dir/plain")" = "$(printf 'apt.log\nquickstart')" ] || fail "left behind: $(ls "$dir/plain")"
tool dpkg-query 'echo installed'
echo 'echo "    PETSc                        no: PETSc 3.15.5 is older than 3.18"; : >Makefile' >"$dir/configure"
tool autoreconf "cp '$dir/configure' .; chmod +x configure"
tool make ':'
run plain 1 "PETSc 3.15.5 is older than 3.18"
grep -q "petsc/build-petsc" "$dir/text" || fail "no way out is named"

# Which kernels are compiled, with a configure that builds them where it is not told otherwise, as the real one does where nvcc is.
cat >"$dir/configure" <<'END'
#!/bin/bash
echo "configure $*" >>made
{ echo '#!/bin/sh'; echo "echo \"$(printf "'%s' " "$@")\""; } >config.status && chmod +x config.status
case " $*" in *" --with-cuda=no"*) codes= ;; *) codes=" -gencode" ;; esac
echo "cuda_codes =$codes" >Makefile
END
chmod +x "$dir/configure"
tool make 'echo "make $*" >>made; : >libmacko.la; [ "$1" != clean ] || rm libmacko.la'
tool nvidia-smi 'exit 1'
says_left_out="kernels for GPUs are left out; ./quickstart --with-cuda compiles them"
made() { # FOLDER WHAT...: what quickstart ran there, but for make -jN
  local folder=$1 want
  shift
  want=$(printf '%s\n' "$@" | sed '/^$/d')
  [ "$(grep -v '^make -j' "$dir/$folder/made" 2>/dev/null)" = "$want" ] || fail "ran $(cat "$dir/$folder/made"), not $want"
  rm "$dir/$folder/made"
}
folder() { mkdir "$dir/$1" && cp "$src/quickstart" "$dir/$1"; }
no_solver="found no PETSc" # which is where these runs end

folder none
run none 1 "$no_solver"
grep -q "$says_left_out" "$dir/text" || fail "does not say that kernels are left out"
made none "configure --with-cuda=no"
run none 1 "$says_left_out"
made none ""
run none 1 "$no_solver" --with-cuda # other objects
grep -q "left out" "$dir/text" && fail "says that kernels are left out, which are not"
made none "configure --with-cuda" "make clean"
run none 1 "$no_solver"
grep -q "left out" "$dir/text" && fail "says that kernels are left out, which stay"
made none ""

folder asked
run asked 1 "$no_solver" --with-cuda=/opt/cuda-13
made asked "configure --with-cuda=/opt/cuda-13"

folder hand # options by hand stay
(cd "$dir/hand" && cp -p "$dir/configure" . && ./configure --prefix="/opt/my macko" --with-cuda=no && rm made) || exit 1
run hand 1 "$says_left_out"
made hand ""
run hand 1 "$no_solver" --with-cuda
made hand "configure --prefix=/opt/my macko --with-cuda" "make clean"

folder module # a PETSc that PETSC_DIR alone tells of; one that pkg-config finds comes first
PETSC_DIR=$dir/petsc PETSC_ARCH=arch run module 1 "$no_solver"
made module "configure --with-cuda=no"
rm "$dir/module/config.status" "$dir/module/Makefile"
tool pkg-config 'case $* in *--exists*) exit 1 ;; esac'
PETSC_DIR=$dir/petsc PETSC_ARCH=arch run module 1 "$no_solver"
made module "configure --with-cuda=no --with-petsc=$dir/petsc/arch"
tool pkg-config ':'

tool nvidia-smi 'printf "9.0\n8.6\n9.0\n"'
folder gpu # for those that are here
run gpu 1 "$no_solver"
made gpu "configure CUDA_ARCHS=86 90"
run gpu 1 "$no_solver" --with-cuda
made gpu ""
(cd "$dir/hand" && ./configure && rm made) || exit 1
run hand 1 "$no_solver"
made hand ""

# To the end without apt: a generated matrix is solved, and what the tests want is named where it is missing.
mkdir -p "$dir/end/solvers" "$dir/end/quickstart-data" && cp "$src/quickstart" "$dir/end" || exit 1
: >"$dir/end/quickstart-data/brick.mtx"
for program in mv head fold tail xargs sort tr uname pkg-config mpicc cc make autoreconf automake libtoolize; do
  found=$(PATH=$dir/bin:$PATH command -v $program) && ln -sf "$found" "$dir/few/$program"
done
cat >"$dir/end/solvers/macko-solve" <<'END'
#!/bin/sh
while [ "$1" != -json ]; do shift; done
echo '{"format": "csr", "iterations": 3, "residual": 1e-9, "bytes": 12, "encode": 0, "solve": 1}' >"$2"
END
chmod +x "$dir/end/solvers/macko-solve"
end() { # LINE OF THE MAKEFILE, SENTENCE
  echo "$1" >"$dir/end/Makefile" && : >"$dir/end/configure"
  chmod +x "$dir/end/configure" && touch -r "$dir/end/Makefile" "$dir/end/configure"
  (cd "$dir/end" && PATH=$dir/few "$dir/few/bash" ./quickstart) >"$dir/text" 2>&1 || fail "does not come to its end without apt"
  grep -q "this machine has no apt-get; going on with what is here" "$dir/text" || fail "does not say that it goes on"
  grep -q "no apt-get, no real matrix" "$dir/text" || fail "does not say why no real matrix is solved"
  grep -q "command not found" "$dir/text" && fail "calls what is not there"
  grep -q "^Next: $2\. In your own PETSc program: -dll_append $dir/end/" "$dir/text" || fail "no '$2'"
}
end "CHECK_LIBS = -lcheck" "make check"
end "CHECK_LIBS = " "make check, once Check is there and ./configure was run again"
exit 0
