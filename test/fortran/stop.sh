#!/bin/sh
# Without stat, a failure must stop the program with the sentence.
[ -x test/fortran/stop ] || { echo "SKIP: the Fortran modules are not built"; exit 77; }
sentence=$(./test/fortran/stop 2>&1) && { echo "the program went on"; exit 1; }
case $sentence in
*"macko: column 4 at entry 2 of row 2 is outside 1..2"*) ;;
*) echo "not the sentence: $sentence"; exit 1 ;;
esac
