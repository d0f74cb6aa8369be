/* macko-info: what is known of a matrix, for people and as JSON. */
#include "info/info.h"

#include "common/json.h"

#include <math.h>
#include <string.h>

/* ---- for people ---- */

/* The line about symmetry; statistics have -1 for a matrix that is not square. */
static void print_symmetry(FILE *f, const statistics *s)
{
  if (s->pattern_symmetry < 0) fprintf(f, "symmetry       none: not square\n");
  else
    fprintf(f, "symmetry       pattern %s (%.4g %% of the entries have a mirror image), values %s (%.4g %% an equal one)\n",
            s->pattern_symmetry == 1 ? "yes" : "no", 100 * s->pattern_symmetry, s->value_symmetry == 1 ? "yes" : "no",
            100 * s->value_symmetry);
}

/* How full blocks of each size are, and the entropy of gaps: both say whether a format for blocks or for gaps is worth a try. */
static void print_blocks(FILE *f, const statistics *s)
{
  if (s->no_columns)
    return (void)fprintf(f, "not counted    lengths of columns, blocks and gaps: there are far more columns than entries\n\n");
  fprintf(f, "blocks        ");
  for (int size = LEAST_BLOCK; size <= MOST_BLOCK; size++)
    fprintf(f, "%s %d x %d %.3g %% full", size > LEAST_BLOCK ? "," : "", size, size, 100 * s->blocks[size].full);
  fprintf(f, "\ngaps           %.4g bits each by their entropy\n\n", s->gap_entropy);
}

/* A row of the table of lengths, whose headings report_print has; `empty` is the number of rows or columns without entries. */
static void print_distribution(FILE *f, const char *name, const distribution *d, int64_t empty)
{
  fprintf(f, "%-14s %9.6g %9.6g %9.6g %9.6g %9.6g %9.4g %10.4g %9.3g %9.3g %9lld\n", name, d->min, d->q1, d->median, d->q3, d->max,
          d->mean, d->variance, d->skewness, d->kurtosis, (long long)empty);
}

/* Puts what a format is made of into text, such as "layout slice, values dict": whatever of it there is. */
static void say_parts(const macko_info *info, char *text, size_t size)
{
  const char *values = macko_values_name(info->values);
  if (info->layout != MACKO_LAYOUT_AUTO) snprintf(text, size, "layout %s, values %s", macko_layout_name(info->layout), values);
  else if (info->variant != MACKO_VARIANT_AUTO)
    snprintf(text, size, "variant %s, values %s", macko_variant_name(info->variant), values);
  else snprintf(text, size, "values %s", values);
}

/* The table of all formats, a line each: bytes and microseconds on a CPU and on a GPU, and the parts or why there is none. The
 * parts are those for a CPU; on a GPU they may differ. */
static void print_formats(FILE *f, const predictions *p)
{
  char parts[80];
  fprintf(f, "\npredicted      %14s %7s %12s %14s %12s\n", "bytes on CPU", "of CSR", "us on CPU", "bytes on GPU", "us on GPU");
  /* A dash stands for what the format cannot be on that target. */
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const prediction *cpu = &p->of[i][MACKO_TARGET_CPU], *gpu = &p->of[i][MACKO_TARGET_GPU];
    fprintf(f, "%-14s", macko_format_name((macko_format)i));
    if (cpu->status) fprintf(f, " %14s %7s %12s", "-", "-", "-");
    else
      fprintf(f, " %14lld %6.1f%% %12.4g", (long long)cpu->info.bytes,
              100 * (double)cpu->info.bytes / (double)cpu->info.csr_bytes, 1e6 * cpu->info.seconds);
    if (gpu->status) fprintf(f, " %14s %12s", "-", "-");
    else fprintf(f, " %14lld %12.4g", (long long)gpu->info.bytes, 1e6 * gpu->info.seconds);
    if (!cpu->status) say_parts(&cpu->info, parts, sizeof parts), fprintf(f, "  %s", parts);
    else fprintf(f, "  %s", cpu->why.text);
    fprintf(f, "\n");
  }
  if (isfinite(p->pace)) fprintf(f, "pace           csr takes %.3g times as long on this CPU now as predicted\n", p->pace);
}

/* Prints the choice, and what every other format would take on the same target, which it was weighed against. */
static void print_choice(FILE *f, const char *what, const prediction *chosen, const predictions *p, int target)
{
  char parts[80];
  if (chosen->status) return (void)fprintf(f, "%-14s %s\n", what, chosen->why.text);
  say_parts(&chosen->info, parts, sizeof parts);
  fprintf(f, "%-14s %s, %s: %lld bytes, %.4g us", what, macko_format_name(chosen->info.format), parts,
          (long long)chosen->info.bytes, 1e6 * chosen->info.seconds);
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++) {
    const prediction *other = &p->of[i][target];
    /* What is chosen is not weighed against itself, nor against what cannot be. */
    if (other->status || i == (int)chosen->info.format) continue;
    fprintf(f, "; %s %lld bytes, %.4g us", macko_format_name((macko_format)i), (long long)other->info.bytes,
            1e6 * other->info.seconds);
  }
  fprintf(f, "\n");
}

/* What the file itself stores comes last, and only of a .macko file. */
void report_print(FILE *f, const report *r)
{
  const macko_csr *a = &r->file->csr;
  const statistics *s = r->s;
  /* The number of cells may be beyond 64 bits. */
  const double cells = (double)a->nrows * (double)a->ncols;
  macko_info info;
  fprintf(f, "%s: %s\n", r->path, r->file->kind);
  fprintf(f, "size           %lld x %lld, %lld nonzeros (%.3g %%), %lld of them stored zeros, values %s\n", (long long)a->nrows,
          (long long)a->ncols, (long long)s->nnz, cells > 0 ? 100 * (double)s->nnz / cells : 0, (long long)s->zeros,
          macko_type_name(a->value_type));
  print_symmetry(f, s);
  fprintf(f, "bandwidth      %lld below the diagonal, %lld above; %lld entries on it\n", (long long)s->lower, (long long)s->upper,
          (long long)s->diagonal);
  print_blocks(f, s);
  fprintf(f, "%-14s %9s %9s %9s %9s %9s %9s %10s %9s %9s %9s\n", "nonzeros", "min", "q1", "median", "q3", "max", "mean", "variance",
          "skewness", "kurtosis", "empty");
  print_distribution(f, "of rows", &s->rows, s->empty_rows);
  if (!s->no_columns) print_distribution(f, "of columns", &s->columns, s->empty_columns);
  print_formats(f, r->p);
  fprintf(f, "\n");
  print_choice(f, "by time, CPU", &r->p->chosen[MACKO_TARGET_CPU], r->p, MACKO_TARGET_CPU);
  print_choice(f, "by time, GPU", &r->p->chosen[MACKO_TARGET_GPU], r->p, MACKO_TARGET_GPU);
  print_choice(f, "by memory", &r->p->by_memory, r->p, MACKO_TARGET_CPU);
  /* Any other file stores the matrix as it is. */
  if (!r->file->matrix) return;
  macko_get_info(r->file->matrix, &info);
  fprintf(f, "stored         %s, %lld bytes%s: %s\n", macko_format_name(info.format), (long long)info.bytes,
          matrix_file_lossy(r->file) ? ", LOSSY values" : "", info.reason);
}

/* ---- JSON ---- */

/* A member with text, followed by `end`. */
static void put_text(FILE *f, const char *name, const char *text, const char *end)
{
  fprintf(f, "\"%s\": ", name);
  put_json_string(f, text);
  fputs(end, f);
}

/* A member with an integer, followed by `end`. */
static void put_integer(FILE *f, const char *name, int64_t value, const char *end)
{
  fprintf(f, "\"%s\": %lld%s", name, (long long)value, end);
}

/* Writes lengths under the keys of Ginkgo's matrix_statistics. */
static void put_distribution(FILE *f, const char *name, const distribution *d, const char *end)
{
  const struct {
    const char *name;
    double value;
  } all[] = {{"min", d->min}, {"q1", d->q1}, {"median", d->median}, {"q3", d->q3}, {"max", d->max}, {"mean", d->mean},
             {"variance", d->variance}, {"skewness", d->skewness}, {"kurtosis", d->kurtosis}, {"hyperskewness", d->hyperskewness},
             {"hyperflatness", d->hyperflatness}};
  const size_t count = sizeof all / sizeof *all;
  fprintf(f, "    \"%s\": {", name);
  for (size_t i = 0; i < count; i++) put_json_number(f, all[i].name, all[i].value, i + 1 < count ? ", " : "}");
  fputs(end, f);
}

/* Writes the entropy of gaps, and an array of how full blocks of each size are. */
static void put_blocks(FILE *f, const statistics *s)
{
  if (s->no_columns) return (void)fputs("  \"gap_entropy\": null,\n  \"blocks\": [],\n", f);
  fputs("  ", f);
  put_json_number(f, "gap_entropy", s->gap_entropy, ",\n  \"blocks\": [");
  for (int size = LEAST_BLOCK; size <= MOST_BLOCK; size++) {
    fputs(size > LEAST_BLOCK ? ", {" : "{", f);
    put_integer(f, "size", size, ", "), put_integer(f, "count", s->blocks[size].count, ", ");
    put_json_number(f, "full", s->blocks[size].full, "}");
  }
  fputs("],\n", f);
}

/* Writes a prediction as an object, with "refused" where there is none. `target` may be NULL, which leaves that member out. */
static void put_prediction(FILE *f, const char *target, const prediction *p, const char *end)
{
  fputs("    {", f);
  if (target) put_text(f, "target", target, ", ");
  if (p->status) put_text(f, "refused", p->why.text, "}");
  else {
    put_text(f, "format", macko_format_name(p->info.format), ", "), put_text(f, "layout", macko_layout_name(p->info.layout), ", ");
    put_text(f, "variant", macko_variant_name(p->info.variant), ", ");
    put_text(f, "values", macko_values_name(p->info.values), ", ");
    put_integer(f, "bytes", p->info.bytes, ", "), put_json_number(f, "seconds", p->info.seconds, "}");
  }
  fputs(end, f);
}

/* Writes what a .macko file stores, and the file that its matrix came from. */
static void put_stored(FILE *f, const matrix_file *file)
{
  macko_info info;
  macko_get_info(file->matrix, &info);
  fputs("  \"stored\": {", f);
  put_text(f, "format", macko_format_name(info.format), ", "), put_integer(f, "bytes", info.bytes, ", ");
  fprintf(f, "\"lossy\": %s, ", matrix_file_lossy(file) ? "true" : "false");
  put_text(f, "source", file->origin.name, ", "), put_text(f, "hash", file->origin.hash, ", ");
  put_text(f, "reason", info.reason, "},\n");
}

/* "problem" has the keys of Ginkgo's matrix_statistics; what that does not have follows it. */
void report_json(FILE *f, const report *r)
{
  const macko_csr *a = &r->file->csr;
  const statistics *s = r->s;
  const predictions *p = r->p;
  fputs("{\n  ", f);
  put_text(f, "file", r->path, ",\n  "), put_text(f, "kind", r->file->kind, ",\n");
  if (r->file->matrix) put_stored(f, r->file);
  fputs("  \"problem\": {\n    ", f);
  put_integer(f, "rows", a->nrows, ", "), put_integer(f, "columns", a->ncols, ", "), put_integer(f, "nonzeros", s->nnz, ",\n");
  put_distribution(f, "row_distribution", &s->rows, ",\n");
  if (s->no_columns) fputs("    \"col_distribution\": null\n  },\n  ", f);
  else put_distribution(f, "col_distribution", &s->columns, "\n  },\n  ");
  put_text(f, "value_type", macko_type_name(a->value_type), ", "), put_integer(f, "stored_zeros", s->zeros, ", ");
  put_integer(f, "empty_rows", s->empty_rows, ", ");
  if (s->no_columns) fputs("\"empty_columns\": null, ", f);
  else put_integer(f, "empty_columns", s->empty_columns, ", ");
  put_integer(f, "diagonal_entries", s->diagonal, ",\n  ");
  put_integer(f, "lower_bandwidth", s->lower, ", "), put_integer(f, "upper_bandwidth", s->upper, ", ");
  /* JSON has no number for "does not apply"; null says it. */
  if (s->pattern_symmetry < 0) fputs("\"pattern_symmetry\": null, \"value_symmetry\": null,\n", f);
  else {
    put_json_number(f, "pattern_symmetry", s->pattern_symmetry, ", ");
    put_json_number(f, "value_symmetry", s->value_symmetry, ",\n");
  }
  put_blocks(f, s);
  fputs("  ", f), put_json_number(f, "pace", p->pace, ",\n");
  fputs("  \"predicted\": [\n", f);
  for (int i = 0; i < MACKO_FORMAT_AUTO; i++)
    for (int t = 0; t < MACKO_TARGET_COUNT; t++)
      put_prediction(f, macko_target_name((macko_target)t), &p->of[i][t],
                     i + 1 < MACKO_FORMAT_AUTO || t + 1 < MACKO_TARGET_COUNT ? ",\n" : "\n  ],\n");
  fputs("  \"chosen\": [\n", f);
  for (int t = 0; t < MACKO_TARGET_COUNT; t++) put_prediction(f, macko_target_name((macko_target)t), &p->chosen[t], ",\n");
  put_prediction(f, "memory", &p->by_memory, "\n  ]\n}\n");
}
