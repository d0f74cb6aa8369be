/* Format dtans: its tables as the kernel looks them up, made on the host. */
#include "dtans/dtans_device.h"

#include "dtans/dtans.h"

#include <stdlib.h>
#include <string.h>

/* This is one table of a matrix as its sections on the host have it. */
typedef struct {
  const uint16_t *first; /* first slot of each symbol, and one past the last one's */
  const uint32_t *gaps; /* NULL where the table has none; the same for values */
  const void *values;
  int symbols, escape;
} table_source;

/* Gives the table of gaps, of values or of pairs of matrix *m. */
static table_source source_of(const macko_matrix *m, macko_dtans_part part)
{
  const macko_section *slots = macko_find_section(m, part & MACKO_DTANS_GAPS ? "gap_slots" : "value_slots");
  int symbols = (int)(slots->bytes / 2) - 1;
  int64_t escape = m->plan.params[part & MACKO_DTANS_GAPS ? MACKO_DTANS_GAP_ESCAPE : MACKO_DTANS_VALUE_ESCAPE];
  return (table_source){.first = slots->data, .symbols = symbols, .escape = escape ? symbols - 1 : -1,
                        .gaps = part & MACKO_DTANS_GAPS ? macko_find_section(m, "gap_symbols")->data : NULL,
                        .values = part & MACKO_DTANS_VALUES ? macko_find_section(m, "value_symbols")->data : NULL};
}

/* Gives the logarithm of the fewest slots that a symbol has, if all symbols have powers of two and begin at multiples of their
 * own number; -1 otherwise. */
static int shift_of(const table_source *t)
{
  unsigned least = MACKO_DTANS_SLOTS;
  for (int i = 0; i < t->symbols; i++) {
    unsigned slots = t->first[i + 1] - t->first[i];
    if (slots & (slots - 1) || t->first[i] & (slots - 1)) return -1;
    if (slots < least) least = slots;
  }
  return __builtin_ctz(least);
}

/* Gives the logarithm of a power of two. */
static int log2_of(unsigned power)
{
  return __builtin_ctz(power);
}

/* Says whether all symbols have 256 slots: then a slot's upper bits are its symbol. */
static int are_equal(const table_source *t)
{
  for (int i = 0; i <= t->symbols; i++)
    if (t->first[i] != 256 * i) return 0;
  return 1;
}

/* Gives what a kernel looks up of symbol i; the code is made for the kind of digits that the kernel decodes. */
static macko_dtans_entry entry_of(const macko_matrix *m, const table_source *t, int i, macko_dtans_digits digits)
{
  unsigned slots = t->first[i + 1] - t->first[i];
  macko_dtans_entry e = {.value = t->values ? macko_float_at(m->value_type, t->values, i) : 0, .gap = t->gaps ? t->gaps[i] : 0};
  if (digits == MACKO_DTANS_POWERS) e.code = (uint32_t)log2_of(slots) | (i == t->escape ? MACKO_DTANS_CODE_ESCAPE : 0);
  else if (digits == MACKO_DTANS_ANY) e.code = t->first[i] | slots << 16 | (i == t->escape ? 1u << 31 : 0);
  return e;
}

/* Writes a table to the image: an id for each slot or group of slots, and the entries. Entries behind the last symbol, which
 * only the fixed table of 16 has, are symbol 0, because slots of nobody occur behind the end of a lane and must decode to
 * something. */
static void fill_table(const macko_matrix *m, const table_source *t, const macko_dtans_device *own,
                       const macko_dtans_device_table *to)
{
  macko_dtans_entry *entries = (macko_dtans_entry *)(void *)(own->image + to->entries);
  for (int i = 0; i < t->symbols; i++) {
    entries[i] = entry_of(m, t, i, own->digits);
    for (int slot = t->first[i]; own->digits != MACKO_DTANS_EQUAL && slot < t->first[i + 1]; slot++)
      if (own->digits == MACKO_DTANS_POWERS) ((uint8_t *)own->image + to->ids)[slot >> own->shift] = (uint8_t)i;
      else ((uint16_t *)(void *)(own->image + to->ids))[slot] = (uint16_t)i;
  }
  for (int i = t->symbols; i < to->symbols; i++) entries[i] = entries[0];
}

/* Gives the most entries of a row, by section "lengths". */
static int64_t longest_row(const macko_matrix *m)
{
  const macko_section *lengths = macko_find_section(m, "lengths");
  int64_t longest = 0;
  for (int64_t i = 0; i < m->nrows; i++)
    if (macko_dtans_length(lengths, i) > longest) longest = macko_dtans_length(lengths, i);
  return longest;
}

/* Fails with LIMIT where a lane has more entries than a kernel counts in 32 bits. Smaller matrices cannot have such a lane and
 * are not looked at. */
static macko_status check_lanes(const macko_matrix *m, int64_t rows, macko_error *err)
{
  const macko_section *lengths = macko_find_section(m, "lengths");
  int64_t lanes = macko_dtans_slices(m->nrows, rows) * MACKO_DTANS_LANES;
  for (int64_t lane = 0; m->nnz > INT32_MAX && lane < lanes; lane++) {
    int64_t count = 0, first = lane / MACKO_DTANS_LANES * rows * MACKO_DTANS_LANES + lane % MACKO_DTANS_LANES, row = first;
    for (int64_t q = 0; q < rows && row < m->nrows; q++, row += MACKO_DTANS_LANES) count += macko_dtans_length(lengths, row);
    if (count > MACKO_DTANS_DEVICE_ENTRIES)
      return macko_fail(err, MACKO_LIMIT,
                        "%lld rows from row %lld on, which one thread would decode, have %lld entries; the GPU takes %lld",
                        (long long)rows, (long long)first, (long long)count, (long long)MACKO_DTANS_DEVICE_ENTRIES);
  }
  return MACKO_OK;
}

/* Chooses the kind of digits by the tables, because a simpler kind decodes faster, and lays tables out side by side in one
 * image. */
macko_status macko_dtans_open_device(const macko_matrix *m, macko_dtans_device *own, macko_error *err)
{
  const int64_t *q = m->plan.params;
  int stream = macko_dtans_has_value_stream(&m->plan), paper = q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_PAPER;
  int joint = q[MACKO_DTANS_VARIANT] == MACKO_VARIANT_JOINT;
  table_source from[MACKO_DTANS_DOMAINS] = {source_of(m, joint ? MACKO_DTANS_PAIRS : MACKO_DTANS_GAPS)};
  int64_t at = 0;
  memset(own, 0, sizeof *own);
  own->kind = joint ? MACKO_DTANS_JOINT : paper ? MACKO_DTANS_PAPER : stream ? MACKO_DTANS_SPLIT : MACKO_DTANS_BESIDE;
  own->groups = q[MACKO_DTANS_MULTIPLICITY] == 256 ? 2 : 3;
  own->rows = (int)q[MACKO_DTANS_ROWS], own->relative = (int)q[MACKO_DTANS_RELATIVE];
  own->tables = 1 + (stream || paper);
  own->longest = longest_row(m);
  if (q[MACKO_DTANS_ONE_VALUE]) own->value = macko_float_at(m->value_type, macko_find_section(m, "value_symbols")->data, 0);
  if (own->tables == 2) from[1] = source_of(m, MACKO_DTANS_VALUES);
  own->shift = shift_of(&from[0]);
  if (own->tables == 2 && shift_of(&from[1]) < own->shift) own->shift = shift_of(&from[1]);
  /* A kernel for equal multiplicities is there for lanes of one row that have one stream. */
  if (own->tables == 1 && own->rows == 1 && own->groups == 2 && m->nrows < 1LL << 34 &&
      are_equal(&from[0])) own->digits = MACKO_DTANS_EQUAL;
  else own->digits = !paper && own->shift >= 4 ? MACKO_DTANS_POWERS : MACKO_DTANS_ANY;
  if (own->shift > 8) own->shift = 8; /* ids are loaded 16 bytes at a time */
  for (int i = 0; i < own->tables; i++) {
    int entries = own->digits == MACKO_DTANS_EQUAL ? MACKO_DTANS_EQUAL_SYMBOLS : from[i].symbols;
    own->table[i] = (macko_dtans_device_table){entries, from[i].escape, at, at + macko_dtans_id_bytes(own)};
    at = own->table[i].entries + entries * (int64_t)sizeof(macko_dtans_entry);
  }
  macko_status s = check_lanes(m, own->rows, err);
  if (s) return s;
  own->bytes = at;
  own->image = calloc((size_t)at, 1);
  if (!own->image) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory for tables of %lld bytes", (long long)at);
  for (int i = 0; i < own->tables; i++) fill_table(m, &from[i], own, &own->table[i]);
  return MACKO_OK;
}
