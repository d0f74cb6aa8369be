/* macko-bench: its help, and what is measured unless others are asked for. */
#include "bench/help.h"
#include "bench/bench.h"
#include "bench/generate.h"

#include <stdio.h>

const char bench_gpu_matrices[] =
    "  5-point:2048 9-point:2048 7-point:192 27-point:160 5-point:2048:random 7-point:192:random 27-point:160:random\n"
    "  elasticity:72 mesh:128 banded:2000000x24 rmat:20 erdos:2000000x16 pruned:12288x12288:50 pruned:12288x12288:70\n"
    "  pruned:12288x12288:90 pruned:28672x8192:50 pattern:12288x12288:4\n";
const char bench_cpu_matrices[] =
    "  5-point:2048 9-point:2048 7-point:144 27-point:112 5-point:2048:random 9-point:2048:random 7-point:144:random\n"
    "  27-point:112:random elasticity:48 banded:1000000x24 rmat:19 erdos:1000000x16 mesh:128 5-point:256 7-point:32:random\n"
    "  27-point:24:random elasticity:12 rmat:13 mesh:24\n";
const char bench_gpu_encodings[] = "auto,auto.raw,csr,slice,row,dtans";
const char bench_cpu_encodings[] = "auto,auto.raw,auto.f32,csr,slice.raw,row.raw,dtans";

#define MACKO_FORMAT(symbol, name, text) #name ", "
static const char formats[] = "" /* followed by all of them */
#include "formats.def"
  ;
#undef MACKO_FORMAT

/* The lists are those that are measured, so that none is written twice. */
void bench_help(void)
{
  printf("Usage: macko-bench [OPTION]... [MATRIX]...\n\n"
         "Times y = A x for every MATRIX (a file, or one of the names below) in our encodings and with the peers, on the GPU if\n"
         "there is one (cuSPARSE, cuBLAS, PETSc), else on the CPU (PETSc, oneMKL). Without a MATRIX, on a GPU:\n%s"
         "and on a CPU:\n%s\n"
         "  --device cpu|gpu   where (default: the GPU if there is one; with --solve, --mkl and --cpu-time the CPU)\n"
         "  --repeat N         the median of N multiplies (default: 50 on a GPU, 21 on a CPU)\n"
         "  --encodings LIST   of auto, memory, measured, update, %sslice, row, paper, eccsr-paper, eccsr-paper-4,\n"
         "                     eccsr-paper-8, eccsr-paper-16 (gaps of so many bits), eccsr-shared, each with a value codec after\n"
         "                     a dot if wished: slice.raw\n"
         "                     (default on a GPU: %s;\n"
         "                     on a CPU: %s)\n"
         "  --solve N          instead of products: assembly, set-up and solves of N steps in PETSc (conjugate gradients, Jacobi;\n"
         "                     others by PETSC_OPTIONS), and again with new values, on types aij (on a GPU aijcusparse) and\n"
         "                     aijmacko, a dominant diagonal put in; medians of 3 (--repeat); on the ranks of mpiexec\n"
         "  --vectors K        products of K vectors at once (MatMatMult of PETSc's types, cuSPARSE's SpMM), and of one for\n"
         "                     comparison\n"
         "  --matmul MxKxN,... instead, on a GPU: Y = A X of M x K weights kept at 2:4, 4:6 and 6:8 with N columns, in the form "
         "that the\n"
         "                     library takes and on sparse tensor cores, beside cuBLASLt's dense product; --tsv and --repeat hold\n"
         "  --sparselt PATH    libcusparseLt.so.0 for it, or the folder that holds it (default: where the loader finds it)\n"
         "  --cpu-time         on a CPU that others use too: processor time instead of the wall's\n"
         "  --mkl PATH         libmkl_rt.so, or the folder that holds it (default: where the loader finds it)\n"
         "  --tsv FILE         the table as tab-separated values (- is standard output)\n"
         "  --json FILE        the same as JSON (- is standard output)\n"
         "  --plot PREFIX      pictures of it through gnuplot, as .svg and .png: PREFIX-size (size against the best peer's),\n"
         "                     PREFIX-time (time against size) and PREFIX-sparsity (pruned matrices against cuBLAS); of a table\n"
         "                     of --matmul, with --from, PREFIX-matmul (speed-up against shape and pattern)\n"
         "  --from FILE        take results from a file that --tsv wrote instead of measuring; can be given several times\n\n"
         "Generated matrices:\n%s\nAnd made of others:\n%s",
         bench_gpu_matrices, bench_cpu_matrices, formats, bench_gpu_encodings, bench_cpu_encodings, generate_help,
         bench_matrix_help);
}
