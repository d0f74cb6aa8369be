/* Generated matrices: their kinds, and the names that ask for them. */
#include "bench/request.h"
#include "bench/bench.h"
#include "bench/generate.h"
#include "nearest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The help text stands beside the table of kinds, which it has to agree with. */
const char generate_help[] =
    "  5-point:N 9-point:N     N x N grid, constant coefficients\n"
    "  7-point:N 27-point:N    N x N x N grid\n"
    "  elasticity:N            27-point grid of N^3 nodes with blocks of 3 x 3, random values\n"
    "  banded:NxW              N rows of W random columns near the diagonal, random values\n"
    "  rmat:S                  power-law graph of 2^S nodes\n"
    "  erdos:NxD               N rows of D random columns, random values\n"
    "  mesh:N                  N^3 scattered points, about 15 neighbours within a radius, numbered by bricks, random values\n"
    "  tetra:N                 N^3 random points, coupled like the corners of tetrahedra, 15.5 entries a row, random values;\n"
    "                          options: morton (usual), rcm, brick, shuffle (the order they are numbered in)\n"
    "  pruned:RxC:P            R x C weights of which P percent were dropped, f16; with :columns each row drops those of the\n"
    "                          least size times a norm of the column, which some columns have far larger (lognormal, outliers)\n"
    "  pattern:RxC:N           R x C weights with 2N-2 of every 2N columns kept, f16\n"
    "  options, after a colon: random (random values), f64, f32, f16, bf16 (type of the values)\n"
    "  of all but rmat, pruned and pattern: a number, the unknowns a node (27-point:72:3), all coupled with those of its\n"
    "  neighbours but for what these leave out: arrow (only the last unknown couples with others), upper (unknowns couple with\n"
    "  later ones), dropP (P percent of the couplings, at random, with their mirrors)\n";

/* The kinds, with the fields in the order of generate_kind. */
static const generate_kind kinds[] = {
    {"5-point", 2, 5, 0, 1, 0, 0}, {"9-point", 2, 9, 0, 1, 0, 0}, {"7-point", 3, 7, 0, 1, 0, 0}, {"27-point", 3, 27, 0, 1, 0, 0},
    {"elasticity", 3, 0, 1, 3, 0, 0}, {"mesh", 3, 0, 1, 1, 0, 0}, {"tetra", 3, 0, 1, 1, POINTS_MOST, 0},
    {"banded", 0, 0, 1, 1, 0, 0}, {"rmat", 0, 0, 0, 0, 25, 0}, {"erdos", 0, 0, 1, 1, 0, 0}, {"pruned", 0, 0, 1, 0, 0, 1},
    {"pattern", 0, 0, 1, 0, 0, 1}};
enum {
  KINDS = sizeof kinds / sizeof *kinds,
  MOST_UNKNOWNS = 16,
  MOST_PATTERN = INT32_MAX / 2 /* the N of pattern, of which blocks have twice as many columns */
};

/* Whether SIZE is one number: the side of a grid or cube, or the power of two of rmat. */
static int has_size_only(const generate_kind *k)
{
  return k->dims || !strcmp(k->name, "rmat");
}

/* Returns the position of word in a list, or count where it is none of them. */
static int position(const char *word, const char *const *list, int count)
{
  int i = 0;
  while (i < count && strcmp(word, list[i])) i++;
  return i;
}

/* Takes a word that says how unknowns are coupled, nodes are numbered or weights are kept; returns 0 for what is none of the kind
 * at hand. */
static int parse_word(const char *word, const generate_kind *k, generate_request *r)
{
  int order = position(word, points_order_names, POINTS_ORDERS), drop = 0, end = 0;
  if (k->unknowns && !strcmp(word, "arrow")) r->mask = MASK_ARROW;
  else if (k->unknowns && !strcmp(word, "upper")) r->mask = MASK_UPPER;
  else if (k->unknowns && sscanf(word, "drop%2d%n", &drop, &end) == 1 && !word[end] && drop > 0) r->drop = drop;
  else if (order < POINTS_ORDERS && !strcmp(k->name, "tetra")) r->order = (points_order)order;
  else if (!strcmp(k->name, "pruned") && !strcmp(word, "columns")) r->by_columns = 1;
  else return 0;
  return 1;
}

/* Takes a number among the options, which is the percentage or the N of dense weights, and of others the unknowns a node. */
static macko_status parse_number(const char *spec, long long number, const generate_kind *k, generate_request *r, macko_error *err)
{
  /* Dense weights have no nodes, so that a number can mean something else. */
  if (k->dense && number > (strcmp(k->name, "pattern") ? 100 : MOST_PATTERN))
    return bench_fail(err, MACKO_INVALID_ARGUMENT, strcmp(k->name, "pattern") ? "%s: %s drops at most 100 percent, not %lld"
                      : "%s: the N of %s is too large: %lld", spec, k->name, number);
  if (k->dense) return r->option = number, MACKO_OK;
  if (!k->unknowns) return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: %s has one unknown a node", spec, k->name);
  if (number > MOST_UNKNOWNS)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: a node has 1 to %d unknowns, not %lld unknowns", spec, MOST_UNKNOWNS,
                      number);
  return r->unknowns = (int)number, MACKO_OK;
}

/* Refuses a word that is no option, with a nearest one where there is one. */
static macko_status refuse_option(const char *spec, const char *word, const generate_kind *k, macko_error *err)
{
  const char *names[8 + POINTS_ORDERS] = {"random", "f64", "f32", "f16", "bf16"};
  int count = 5;
  if (k->unknowns) names[count++] = "arrow", names[count++] = "upper";
  if (!strcmp(k->name, "pruned")) names[count++] = "columns";
  for (int i = 0; i < POINTS_ORDERS && !strcmp(k->name, "tetra"); i++) names[count++] = points_order_names[i];
  const char *near = macko_near_name(word, names, count);
  return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: option %s is none of random, f64, f32, f16, bf16 and a number, nor one "
                    "of those that --help lists for %s%s%s", spec, word, k->name, near ? "; the nearest is " : "",
                    near ? near : "");
}

/* Takes one option. */
static macko_status parse_option(const char *spec, char *word, const generate_kind *k, generate_request *r, macko_error *err)
{
  char *end;
  long long number = strtoll(word, &end, 10);
  if (!strcmp(word, "random")) r->random = 1;
  else if (!strcmp(word, "f64")) r->type = MACKO_F64;
  else if (!strcmp(word, "f32")) r->type = MACKO_F32;
  else if (!strcmp(word, "f16")) r->type = MACKO_F16;
  else if (!strcmp(word, "bf16")) r->type = MACKO_BF16;
  /* Any other word may be one that only some kinds have. */
  else if (*word && !*end && number > 0) return parse_number(spec, number, k, r, err);
  else if (!parse_word(word, k, r)) return refuse_option(spec, word, k, err);
  return MACKO_OK;
}

/* Says what an option settles, as a bit of its own, or 0 where saying it twice changes nothing. */
static unsigned settles(const char *word)
{
  static const char *const types[] = {"f64", "f32", "f16", "bf16"}, *const masks[] = {"arrow", "upper"};
  if (position(word, types, 4) < 4) return 1;
  if (position(word, masks, 2) < 2) return 2;
  if (position(word, points_order_names, POINTS_ORDERS) < POINTS_ORDERS) return 4;
  if (!strncmp(word, "drop", 4)) return 8;
  return *word && strspn(word, "0123456789") == strlen(word) ? 16 : 0;
}

/* Takes all options. Of two that settle the same the latter would win unseen, so the second one is refused. */
static macko_status parse_options(const char *spec, char **save, const generate_kind *k, generate_request *r, macko_error *err)
{
  unsigned settled = 0;
  macko_status s = MACKO_OK;
  for (char *word; !s && (word = strtok_r(NULL, ":", save)); settled |= settles(word)) {
    s = parse_option(spec, word, k, r, err);
    if (!s && settled & settles(word))
      s = bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: %s says again what an option before it has said", spec, word);
  }
  return s;
}

/* Takes SIZE, which is NULL where spec ends before it, and checks that the kind can have it. */
static macko_status parse_size(const char *spec, const char *word, const generate_kind *k, generate_request *r, macko_error *err)
{
  const int two = !has_size_only(k);
  const char *example = two ? "1000x20" : "20";
  int end = 0;
  if (!word) return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: %s needs a size, as in %s:%s", spec, k->name, k->name, example);
  if (two) sscanf(word, "%" SCNd64 "x%" SCNd64 "%n", &r->a, &r->b, &end);
  else sscanf(word, "%" SCNd64 "%n", &r->a, &end);
  /* `end` stays 0 where a number is missing. */
  if (!end || word[end] || r->a < 1 || (two && r->b < 1))
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: '%s' is no size; %s needs one as in %s:%s", spec, word, k->name, k->name,
                      example);
  if (k->most && r->a > k->most)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: the size of %s is at most %d", spec, k->name, k->most);
  if (two && !k->dense && r->b >= INT32_MAX)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: rows of %s have less than 2^31 - 1 entries, not %lld", spec, k->name,
                      (long long)r->b);
  if (!strcmp(k->name, "mesh") && r->a % MESH_BRICK)
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: a mesh is made of bricks of %d cells a side, so N is a multiple of %d",
                      spec, MESH_BRICK, MESH_BRICK);
  return MACKO_OK;
}

/* What is no kind may be a misspelt file as well, so the sentence speaks of both. Masks that leave nothing out are refused, since
 * such a name would promise another matrix. */
macko_status generate_parse(const char *spec, generate_request *r, const generate_kind **found, macko_error *err)
{
  char text[256], *save = NULL, *word;
  const generate_kind *k = kinds;
  snprintf(text, sizeof text, "%s", spec);
  /* The name of the kind ends at the first colon. */
  word = strtok_r(text, ":", &save);
  while (k < kinds + KINDS && (!word || strcmp(word, k->name))) k++;
  if (k == kinds + KINDS) {
    const char *names[KINDS];
    for (int i = 0; i < KINDS; i++) names[i] = kinds[i].name;
    const char *near = macko_near_name(word ? word : spec, names, KINDS);
    return bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: no such file, and no generated matrix%s%s", spec,
                      near ? "; the nearest is " : "", near ? near : "");
  }
  *found = k;
  /* Weights are f16, and of pruned ones half are dropped, where nothing is said; for N of pattern nothing stands. */
  const int pattern = !strcmp(k->name, "pattern");
  *r = (generate_request){.random = k->random, .type = k->dense ? MACKO_F16 : MACKO_F64, .option = k->dense && !pattern ? 50 : 0,
                 .unknowns = k->unknowns ? k->unknowns : 1};
  snprintf(r->kind, sizeof r->kind, "%s", word);
  macko_status s = parse_size(spec, strtok_r(NULL, ":", &save), k, r, err);
  if (!s) s = parse_options(spec, &save, k, r, err);
  if (!s && pattern && !r->option)
    s = bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: pattern needs a number N behind its size, as in pattern:1000x20:4", spec);
  /* An arrow of two unknowns keeps all four couplings, and an upper triangle of one keeps the one. */
  if (!s && r->unknowns < (r->mask == MASK_ARROW ? 3 : r->mask == MASK_UPPER ? 2 : 1))
    s = bench_fail(err, MACKO_INVALID_ARGUMENT, "%s: %s leaves nothing out of %d unknown%s a node", spec,
                   r->mask == MASK_ARROW ? "arrow" : "upper", r->unknowns, r->unknowns > 1 ? "s" : "");
  return s;
}
