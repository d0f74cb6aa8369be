/* CSR-dtANS: which symbols get slots, and how many (arXiv 2603.01915, section IV-B). */
#include "dtans/dtans.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a heap of gains: the smallest key, of equal keys the smallest place, is on top ---- */

/* What moving one slot is worth, and for which symbol. */
typedef struct {
  double key;
  int place;
} gain;

/* The heap; its array belongs to whoever made it and has room for all symbols. */
typedef struct {
  gain *gains;
  int size;
} heap;

/* Tells which of two comes out first. Places decide between equal keys, so that tables are the same everywhere. */
static int before(gain a, gain b)
{
  return a.key < b.key || (a.key == b.key && a.place < b.place);
}

/* Adds a key with its place. */
static void push(heap *h, double key, int place)
{
  gain new = {key, place};
  int i = h->size++;
  for (; i > 0 && before(new, h->gains[(i - 1) / 2]); i = (i - 1) / 2) h->gains[i] = h->gains[(i - 1) / 2];
  h->gains[i] = new;
}

/* Takes the element on top out. */
static gain pop(heap *h)
{
  gain top = h->gains[0], last = h->gains[--h->size];
  int i = 0;
  for (int child = 1; child < h->size; child = 2 * i + 1) {
    if (child + 1 < h->size && before(h->gains[child + 1], h->gains[child])) child++;
    if (!before(h->gains[child], last)) break;
    h->gains[i] = h->gains[child];
    i = child;
  }
  h->gains[i] = last;
  return top;
}

/* ---- allocation ---- */

enum { MOST = 1024 }; /* the largest multiplicity */

/* What a search for the best table needs: the counts, the rules, and room for one allocation after the other. */
typedef struct {
  const macko_dtans_count *sorted; /* by falling count */
  const int64_t *sums;             /* sums[k]: occurrences of the first k symbols */
  int64_t total;
  macko_dtans_table_rules rules;
  int escape; /* 1: the last of the symbols to be allocated is the escape */
  double step[MOST + 1], log2[MOST + 1]; /* of multiplicities; step[m] = log2((m + 1) / m), what one slot more saves */
  int64_t counts[MACKO_DTANS_SLOTS + 1]; /* of the symbols to be allocated */
  int m[MACKO_DTANS_SLOTS + 1];          /* their slots */
  gain gains[MACKO_DTANS_SLOTS + 1], losses[MACKO_DTANS_SLOTS + 1];
} search;

/* Adds what one slot more for a symbol saves in bits, negative so that the largest is on top. */
static void push_gain(heap *h, const search *s, int place)
{
  push(h, -(double)s->counts[place] * s->step[s->m[place]], place);
}

/* Adds what one slot less costs in bits, so that the smallest is on top, of equal ones the last place. */
static void push_loss(heap *h, const search *s, int place)
{
  push(h, (double)s->counts[place] * s->step[s->m[place] - 1], -place);
}

/* Gives all n symbols slots by these shares and returns their sum: count * scale, to the next number within limits, for which
 * what one slot more saves is nearly the same everywhere. */
static int share_slots(search *s, int n, double scale)
{
  int sum = 0, most = s->rules.multiplicity;
  for (int i = 0; i < n; i++) {
    double share = (double)s->counts[i] * scale + 0.5;
    s->m[i] = share >= most ? most : share < 1 ? 1 : (int)share;
    sum += s->m[i];
  }
  return sum;
}

/* Finds shares that use up the slots but for a few, and returns how many are left. The scale of shares grows or shrinks until one
 * that leaves slots and one that takes too many are known, and then goes to the middle between them. */
static int give_shares(search *s, int n)
{
  double sum = 0, low = 0, high, scale;
  for (int i = 0; i < n; i++) sum += (double)s->counts[i];
  high = 64 * MACKO_DTANS_SLOTS / sum, scale = MACKO_DTANS_SLOTS / sum;
  for (int round = 0; round < 16; round++) {
    int left = MACKO_DTANS_SLOTS - share_slots(s, n, scale);
    if (left >= 0 && left <= n / 128) return left;
    if (left >= 0) low = scale;
    else high = scale;
    scale = low > 0 && high < 64 * MACKO_DTANS_SLOTS / sum ? (low + high) / 2 : left >= 0 ? 1.25 * scale : 0.8 * scale;
  }
  return MACKO_DTANS_SLOTS - share_slots(s, n, low);
}

/* Gives n symbols powers of two from the least on: the largest saving a slot doubles first. In the order of falling counts every
 * symbol's slots are then aligned to their number; the escape, which is last whatever its count, keeps the least. */
static void allocate_powers(search *s, int n)
{
  heap gains = {s->gains, 0};
  int left = MACKO_DTANS_SLOTS - n * s->rules.least, *m = s->m;
  for (int i = 0; i < n; i++) {
    m[i] = s->rules.least;
    if (i + 1 < n || !s->escape) push(&gains, -(double)s->counts[i] / m[i], i);
  }
  while (gains.size) {
    int i = pop(&gains).place;
    if (m[i] > left || 2 * m[i] > s->rules.multiplicity) continue;
    left -= m[i], m[i] *= 2;
    push(&gains, -(double)s->counts[i] / m[i], i);
  }
}

/* Makes the heap of gains of all symbols that may have a slot more. */
static void fill_gains(search *s, heap *h, int n)
{
  *h = (heap){s->gains, 0};
  for (int i = 0; i < n; i++)
    if (s->m[i] < s->rules.multiplicity) push_gain(h, s, i);
}

/* Makes the heap of losses of all symbols that may have a slot less. */
static void fill_losses(search *s, heap *h, int n)
{
  *h = (heap){s->losses, 0};
  for (int i = 0; i < n; i++)
    if (s->m[i] > 1) push_loss(h, s, i);
}

/* Gives a slot to the symbol that saves most by it. */
static void give_slot(search *s, heap *gains)
{
  int i = pop(gains).place;
  if (++s->m[i] < s->rules.multiplicity) push_gain(gains, s, i);
}

/* Takes a slot from the symbol that loses least by it. */
static void take_slot(search *s, heap *losses)
{
  int i = -pop(losses).place;
  if (--s->m[i] > 1) push_loss(losses, s, i);
}

/* Tells whether what one slot more saves is worth more than what one less costs; of equal ones the first place has it. */
static int pays(gain more, gain less)
{
  return -more.key > less.key || (-more.key == less.key && more.place < -less.place);
}

/* Finds s->m[i] slots for each of n symbols, 1 <= m <= multiplicity, at most MACKO_DTANS_SLOTS in all, so that the sum of
 * counts[i] * log2(K / m[i]) is smallest: as if the next slot always went where it saves most. Shares that are nearly right, and
 * never take too much, get what is left; then slots move while that pays. Who got one in that way would not give it back, nor the
 * other way round, so that it does no harm that their other key is outdated. */
static void allocate(search *s, int n)
{
  heap gains, losses;
  int left = give_shares(s, n);
  fill_gains(s, &gains, n);
  for (; left > 0 && gains.size; left--) give_slot(s, &gains);
  fill_losses(s, &losses, n);
  while (gains.size && losses.size && pays(gains.gains[0], losses.gains[0])) give_slot(s, &gains), take_slot(s, &losses);
}

/* ---- how many symbols to keep ---- */

/* Returns the bits of all occurrences and of the table if the k most frequent symbols are kept, and INFINITY where that cannot
 * be; *bits becomes what slots alone take. s->m holds the slots of the symbols, the escape's last. */
static double cost_of(search *s, int k, double *bits)
{
  int n = k;
  int64_t escaped = s->total - s->sums[k];
  for (int i = 0; i < k; i++) s->counts[i] = s->sorted[i].count;
  if (escaped) s->counts[n++] = escaped;
  if (n > MACKO_DTANS_SLOTS / (s->rules.least ? s->rules.least : 1) || n == 0) return INFINITY;
  s->escape = escaped != 0;
  if (s->rules.least) allocate_powers(s, n);
  else allocate(s, n);
  *bits = 0;
  for (int i = 0; i < n; i++) *bits += (double)s->counts[i] * (12 - s->log2[s->m[i]]);
  return *bits + (double)escaped * s->rules.raw_bits + (double)k * s->rules.symbol_bits;
}

/* Returns how many symbols, at most `most`, are best kept. The cost falls, is flat around its minimum and rises again: a
 * geometric scan finds the place, then steps that halve. To try all numbers would take an allocation for each. */
static int best_count(search *s, int most)
{
  double bits, best_cost = cost_of(s, 0, &bits), cost;
  int best = 0;
  for (int k = 1; most > 0; k = (int)(k * 1.3) + 1) {
    if (k > most) k = most;
    cost = cost_of(s, k, &bits);
    if (cost < best_cost) best = k, best_cost = cost;
    if (k == most) break;
  }
  for (int step = best / 4 > 1 ? best / 4 : 1; step >= 1; step /= 2) {
    int around[] = {best - step, best + step};
    for (int i = 0; i < 2; i++) {
      if (around[i] < 0 || around[i] > most) continue;
      cost = cost_of(s, around[i], &bits);
      if (cost < best_cost) best = around[i], best_cost = cost;
    }
  }
  return best;
}

/* ---- tables ---- */

/* Compares symbols for sorting: by falling count, and equal ones by what they are. */
static int by_count(const void *a, const void *b)
{
  const macko_dtans_count *p = a, *q = b;
  if (p->count != q->count) return p->count > q->count ? -1 : 1;
  if (p->symbol.value != q->symbol.value) return p->symbol.value < q->symbol.value ? -1 : 1;
  return p->symbol.gap < q->symbol.gap ? -1 : p->symbol.gap > q->symbol.gap;
}

/* Returns a count up to which symbols can be left out, as more than a table can hold occur more often; 0 where there are no more
 * than that. It spares sorting all the rare ones. */
static int64_t too_rare(const macko_dtans_histogram *h)
{
  int64_t tally[256] = {0}, more = 0;
  int c = 255;
  for (int64_t i = 0; i < h->room; i++)
    if (h->slots[i].count) tally[h->slots[i].count < 255 ? h->slots[i].count : 255]++;
  for (; c > 0 && more <= MACKO_DTANS_SLOTS; c--) more += tally[c];
  return more > MACKO_DTANS_SLOTS ? c : 0;
}

/* Sorting in full follows only after the rare ones are out. */
macko_status macko_dtans_sort_counts(macko_dtans_histogram *h, macko_error *err)
{
  int64_t rare = too_rare(h), count = 0;
  for (int64_t i = 0; i < h->room; i++) count += h->slots[i].count > rare;
  h->sorted = malloc((size_t)(count + 1) * sizeof *h->sorted);
  if (!h->sorted) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sort %lld symbols", (long long)count);
  for (int64_t i = 0; i < h->room; i++)
    if (h->slots[i].count > rare) h->sorted[h->kept++] = h->slots[i];
  qsort(h->sorted, (size_t)h->kept, sizeof *h->sorted, by_count);
  free(h->slots);
  h->slots = NULL;
  return MACKO_OK;
}

/* Makes the table of the `kept` most frequent symbols, and the index by which a symbol's number is found. The index is eight
 * times as large, so that looking one up takes one step as a rule. */
static macko_status fill_table(macko_dtans_table *t, search *s, int kept, macko_error *err)
{
  int room = 16;
  cost_of(s, kept, &t->bits);
  t->total = s->total;
  t->escaped = s->total - s->sums[kept];
  t->escape = t->escaped ? kept : -1;
  t->symbols = kept + (t->escaped != 0);
  while (room < 8 * t->symbols) room *= 2;
  t->index_mask = room - 1;
  t->key = macko_new_hash_key();
  t->index = calloc((size_t)room, sizeof *t->index);
  if (!t->index) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for an index of %d symbols", room);
  for (int i = 0; i < t->symbols; i++) {
    t->first[i + 1] = (uint16_t)(t->first[i] + s->m[i]);
    t->log2[i] = (float)s->log2[s->m[i]];
  }
  /* The escape is not in the index: it is what is found where nothing is. */
  for (int k = 0; k < kept; k++) {
    unsigned i = (unsigned)macko_dtans_hash(t->key, s->sorted[k].symbol) & t->index_mask;
    while (t->index[i]) i = (i + 1) & t->index_mask;
    t->index[i] = (uint16_t)(k + 1);
    t->symbol[k] = s->sorted[k].symbol;
  }
  return MACKO_OK;
}

/* Searches for the best table of n sorted symbols and makes it. Where there are more than slots one of these is left to the
 * escape. */
static macko_status search_table(macko_dtans_table *t, search *s, const macko_dtans_count *sorted, int n, macko_error *err)
{
  int64_t *sums = calloc((size_t)n + 1, sizeof *sums);
  if (!sums) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to sum %d counts", n);
  for (int i = 0; i < n; i++) sums[i + 1] = sums[i] + sorted[i].count;
  s->sorted = sorted, s->sums = sums;
  for (int m = 1; m <= MOST; m++) s->log2[m] = log2(m), s->step[m] = log2((double)(m + 1) / m);
  macko_status status = fill_table(t, s, best_count(s, n <= MACKO_DTANS_SLOTS ? n : MACKO_DTANS_SLOTS - 1), err);
  free(sums);
  return status;
}

/* The search is too large for the stack. */
macko_status macko_dtans_open_table(const macko_dtans_histogram *h, const macko_dtans_table_rules *rules,
                                    macko_dtans_table **table, macko_error *err)
{
  macko_status status = MACKO_OK;
  search *s = malloc(sizeof *s);
  *table = calloc(1, sizeof **table);
  if (!s || !*table) status = macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for a table of %d symbols", h->kept);
  else {
    s->total = h->total, s->rules = *rules;
    status = search_table(*table, s, h->sorted, h->kept, err);
  }
  free(s);
  if (status) macko_dtans_close_table(table);
  return status;
}

/* The pointer becomes NULL, so that a coder can be closed twice. */
void macko_dtans_close_table(macko_dtans_table **table)
{
  if (*table) free((*table)->index);
  free(*table);
  *table = NULL;
}
