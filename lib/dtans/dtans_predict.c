/* CSR-dtANS: how many bytes a stream will take, before it is written. Row lengths and histograms give all but one number exactly:
 * how many words come out of digits. That is counted on all slices of a small matrix and on slices spread over the entries of a
 * big one, and scaled by the bits that all digits carry. */
#include "dtans/dtans_predict.h"

#include <math.h>
#include <stdlib.h>

enum {
  LARGE = 64,      /* a slice that holds this part of the entries is counted by itself in a prediction; */
  TRIED_LARGE = 8  /* where choices are compared one that holds this part is passed over */
};

/* Sums of entries are kept for every 32 rows, so that those of any slice, whose rows are a multiple of these, are a
 * difference. */
macko_status macko_dtans_open_planner(macko_dtans_input *in, macko_dtans_planner *p, macko_error *err)
{
  int64_t nrows = in->rows->nrows, blocks = macko_dtans_slices(nrows, 1);
  *p = (macko_dtans_planner){.in = in, .sample = MACKO_DTANS_TRIED, .nrows = nrows, .nnz = in->nnz,
                             .value_type = in->rows->value_type};
  p->blocks = calloc((size_t)blocks + 1, sizeof *p->blocks);
  if (!p->blocks) return macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to plan %lld slices", (long long)blocks);
  for (int64_t i = 0; i < nrows; i++) p->blocks[i / MACKO_DTANS_LANES + 1] += macko_dtans_length(&in->lengths, i);
  for (int64_t i = 0; i < blocks; i++) p->blocks[i + 1] += p->blocks[i];
  return MACKO_OK;
}

/* The slice at hand and the sums are all that it holds. */
void macko_dtans_close_planner(macko_dtans_planner *p)
{
  free(p->slice.symbols), free(p->blocks);
}

/* Returns the bytes of a table's sections. */
static int64_t table_bytes(const macko_dtans_table *t, macko_dtans_part part, int64_t value_size)
{
  return t->symbols * ((part & MACKO_DTANS_GAPS ? 4 : 0) + (part & MACKO_DTANS_VALUES ? value_size : 0)) + 2 * (t->symbols + 1);
}

/* Adds the words of all segments and the symbols whose digits are returned, over all lanes: a matter of row lengths, so that most
 * tries share it, and it is computed anew only for other rows a lane or another coding. */
static void full_size(macko_dtans_planner *p, const macko_dtans_coding *c, int64_t rows, macko_dtans_size *size)
{
  int64_t full = 0, returned = 0;
  int known = p->full.rows == rows && p->full.domains == c->domains && p->full.short_tail == c->short_tail;
  for (int64_t first = 0; first < p->nrows && !known; first += rows * MACKO_DTANS_LANES)
    for (int l = 0; l < MACKO_DTANS_LANES; l++) {
      int64_t count = 0, segments;
      for (int64_t q = 0, row = first + l; q < rows && row < p->nrows; q++, row += MACKO_DTANS_LANES)
        count += macko_dtans_length(&p->in->lengths, row);
      segments = macko_dtans_segments(c, count);
      if (!segments) continue;
      full += MACKO_DTANS_WORDS * (segments - 1) + macko_dtans_words(c, count, segments - 1);
      returned += MACKO_DTANS_SEGMENT * (segments - 1);
    }
  if (!known) p->full.rows = rows, p->full.domains = c->domains, p->full.short_tail = c->short_tail;
  if (!known) p->full.full = full, p->full.returned = returned;
  size->full += p->full.full, size->returned += p->full.returned;
}

/* Returns the entries of a slice. */
static int64_t slice_nonzeros(const macko_dtans_planner *p, int64_t rows, int64_t slice)
{
  int64_t blocks = macko_dtans_slices(p->nrows, 1), first = slice * rows, past = first + rows;
  return p->blocks[past < blocks ? past : blocks] - p->blocks[first];
}

/* What has been measured, and how many entries that were. Of a sample: what it stands for. */
typedef struct {
  double words, returned, extracted, log2_sum, nonzeros; /* words: all but those that are extracted, which are counted on top */
} measured;

/* Runs the forward pass over a slice that stands for `weight` slices like it, and adds what it takes to *m. */
static macko_status measure(macko_dtans_planner *p, int64_t rows, macko_dtans_coder *c, int64_t slice, double weight,
                            measured *m, macko_error *err)
{
  macko_dtans_size size = {0};
  macko_status s = macko_dtans_gather(p->in, rows, slice, &p->slice, err);
  if (!s) s = macko_dtans_measure(c, &p->slice, &size, err);
  m->words += weight * (double)(size.full + size.raw), m->returned += weight * (double)size.returned;
  m->extracted += weight * (double)size.extracted, m->log2_sum += weight * size.log2_sum;
  m->nonzeros += weight * (double)p->slice.nonzeros;
  return s;
}

/* Returns what row lengths and histograms say of all slices. */
static measured known_size(macko_dtans_planner *p, const macko_dtans_coder *c, int64_t rows)
{
  macko_dtans_size size = {0};
  full_size(p, &c->coding, rows, &size);
  for (int k = 0; k < c->coding.domains; k++) {
    const macko_dtans_table *t = c->table[k];
    size.raw += t->escaped * (c->coding.gap_words[k] + c->coding.value_words[k]);
    size.log2_sum += 12 * (double)t->total - t->bits;
  }
  return (measured){(double)(size.full + size.raw), (double)size.returned, 0, size.log2_sum, (double)p->nnz};
}

/* Returns the words of all slices but those in *exact, by a sample of them: what digits give is taken to be in proportion to the
 * number of symbols whose digits are returned and to the bits of a digit; where the sample has none of those, all their bits make
 * words. */
static int64_t estimate(const measured *all, const measured *exact, const measured *sample, int domains)
{
  double bits = (all->log2_sum - exact->log2_sum) / (all->nonzeros - exact->nonzeros), rate = 1.0 / (32 * domains);
  if (sample->returned > 0 && sample->log2_sum > 0)
    rate = sample->extracted / sample->returned * sample->nonzeros / sample->log2_sum;
  return (int64_t)(all->words - exact->words - rate * bits * (all->returned - exact->returned));
}

/* Returns the distance in entries of the places where slices are taken for a sample, so that those taken have about p->sample: a
 * slice is taken as often as it has entries, hence the squares. One that has `large` is none of them. */
static double distance(const macko_dtans_planner *p, int64_t rows, double large)
{
  int64_t slices = macko_dtans_slices(p->nrows, rows);
  double squares = 0;
  for (int64_t i = 0; i < slices; i++) {
    double nonzeros = (double)slice_nonzeros(p, rows, i);
    if (nonzeros < large) squares += nonzeros * nonzeros;
  }
  return squares < large * (double)p->sample ? squares / (double)p->sample : large;
}

/* Returns the place between k and k + 1: anywhere there, or a regular mesh shows only some of its rows; but always the same, so
 * that plans are. */
static double place(int64_t k)
{
  uint64_t hash = ((uint64_t)k + 1) * 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 32) * 0x9e3779b97f4a7c15u;
  return (double)k + (double)(hash >> 40) / (1 << 24);
}

/* Slices alike: those whose entries have the same power of two. Short rows give back fewer words than long ones, so that a
 * sample has its part of each kind, and one slice at least. */
enum { STRATA = 63 };

/* How a stratum is sampled while its slices come. */
typedef struct {
  double nonzeros, apart, passed; /* of all its slices; between places; of the slices before */
  int64_t places, taken;
} stratum;

/* Returns the stratum of slices with so many entries. */
static stratum *stratum_of(stratum *strata, double nonzeros)
{
  return &strata[ilogb(nonzeros)];
}

/* Sets up the strata of slices with fewer than `most` entries, with a place for about every `apart` of them. */
static void cut_strata(const macko_dtans_planner *p, int64_t rows, double apart, double most, stratum strata[STRATA])
{
  for (int64_t i = 0; i < macko_dtans_slices(p->nrows, rows); i++) {
    double nonzeros = (double)slice_nonzeros(p, rows, i);
    if (nonzeros > 0 && nonzeros < most) stratum_of(strata, nonzeros)->nonzeros += nonzeros;
  }
  for (stratum *t = strata; t < strata + STRATA; t++) {
    t->places = (int64_t)(t->nonzeros / apart + 0.5);
    if (!t->places) t->places = 1;
    t->apart = t->nonzeros / (double)t->places;
  }
}

/* Returns how many places lie in the next slice of a stratum. */
static double count_places(stratum *t, double nonzeros)
{
  double places = 0;
  for (t->passed += nonzeros; t->taken < t->places && place(t->taken) * t->apart < t->passed; t->taken++) places++;
  return places;
}

/* Measures slices that have at least `apart` entries, but not `large`, by themselves; of the others, one at every place. A slice
 * stands for as many like it as its chance to be taken says. */
static macko_status measure_slices(macko_dtans_planner *p, int64_t rows, macko_dtans_coder *c, double apart, double large,
                                   measured *exact, measured *sample, macko_error *err)
{
  stratum strata[STRATA] = {{0}};
  macko_status s = MACKO_OK;
  if (apart > 0) cut_strata(p, rows, apart, apart < large ? apart : large, strata);
  for (int64_t i = 0; i < macko_dtans_slices(p->nrows, rows) && !s; i++) {
    double nonzeros = (double)slice_nonzeros(p, rows, i);
    if (nonzeros == 0 || nonzeros >= large) continue;
    if (nonzeros >= apart) {
      s = measure(p, rows, c, i, 1, exact, err);
      continue;
    }
    stratum *t = stratum_of(strata, nonzeros);
    double places = count_places(t, nonzeros);
    if (places > 0) s = measure(p, rows, c, i, places * t->apart / nonzeros, sample, err);
  }
  return s;
}

/* Predicts the words of a stream: exactly for a small matrix; else by a sample, beside which the slices that hold a large part of
 * it are counted by themselves, but while choices are compared only if there are no others. */
static macko_status predict_words(macko_dtans_planner *p, int64_t rows, macko_dtans_coder *c, int64_t *words, macko_error *err)
{
  int tried = p->sample == MACKO_DTANS_TRIED;
  double large = (double)p->nnz / (tried ? TRIED_LARGE : LARGE), apart = 0;
  measured exact = {0}, sample = {0}, all;
  if (p->nnz / p->sample > 1) apart = distance(p, rows, large);
  macko_status s = measure_slices(p, rows, c, apart, tried && apart > 0 ? large : INFINITY, &exact, &sample, err);
  *words = (int64_t)(exact.words - exact.extracted);
  if (s || exact.nonzeros == (double)p->nnz) return s;
  all = known_size(p, c, rows);
  *words += estimate(&all, &exact, &sample, c->coding.domains);
  return MACKO_OK;
}

/* Tables are known exactly; the words decide whether starts of slices have 32 bits. */
macko_status macko_dtans_predict(macko_dtans_planner *p, const int64_t *params, macko_dtans_coder *c, int64_t *bytes,
                                 macko_error *err)
{
  int64_t words;
  macko_status s = predict_words(p, params[MACKO_DTANS_ROWS], c, &words, err);
  if (s) return s;
  *bytes = 4 * words + (macko_dtans_slices(p->nrows, params[MACKO_DTANS_ROWS]) + 1) * macko_type_bytes(macko_index_type(words));
  for (int k = 0; k < c->coding.domains; k++)
    *bytes += table_bytes(c->table[k], c->part[k], macko_type_bytes(p->value_type));
  return MACKO_OK;
}
