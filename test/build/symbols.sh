#!/bin/sh
# The libraries export what their headers document, and nothing else but what one of them asks of another (lib/core/cost.h,
# lib/core/facts.h, lib/core/measure.h, lib/macko/layouts.h, lib/dtans/dtans.h).
src=${srcdir:-.}
bad=0
command -v nm >/dev/null || { echo "SKIP: no nm"; exit 77; }
compare() { # LIBRARY HEADER PREFIX [EXTRA]
  [ -e "$1" ] || { echo "SKIP: $1 is not built as a shared library"; return 0; }
  nm -D --defined-only "$1" | awk '{print $3}' | sed 's/@.*//' | grep -vE '^(_init|_fini|_edata|_end|__bss_start|[A-Z_0-9.]*)$' | sort -u >symbols.have
  { sed '/#include </d' "$src/$2" | ${CC:-cc} -E -P -I "$src/lib" -x c - | sed "s/(\*/ /g" | grep -oE "\b$3[A-Za-z0-9_]+ ?\(" | tr -d ' (' ; [ -z "$4" ] || echo "$4"; } | sort -u >symbols.want
  if ! diff symbols.want symbols.have >symbols.diff; then
    echo "$1 and $2 differ (< declared only, > exported only):"
    cat symbols.diff
    bad=1
  fi
  rm -f symbols.have symbols.want symbols.diff
}
compare .libs/libmacko.so lib/macko.h macko_ 'macko_add_pairs
macko_choose_measured
macko_dtans_close_coder
macko_dtans_close_input
macko_dtans_open_coder
macko_dtans_ops
macko_dtans_plan
macko_dtans_plan_values
macko_know_gpu
macko_plan_matrix
macko_prepare
macko_sectors_of_entry'
compare .libs/libpetscmacko.so petsc/petscmacko.h MatMacko PetscDLLibraryRegister_petscmacko
# C programs are linked to it, by a compiler whose C++ library need not be that of the nvcc that made it.
if [ -e .libs/libmacko_cuda.so ] && nm -D --undefined-only .libs/libmacko_cuda.so | grep ' _Z'; then
  echo "libmacko_cuda needs a C++ library"
  bad=1
fi
exit $bad
