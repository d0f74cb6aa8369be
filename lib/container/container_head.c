/* The head of a container, which is JSON: what there is to know of a matrix besides its sections. */
#include "container/container.h"

#if MACKO_HAS_CONTAINER

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* Writes the name that Binsparse has for an element type: letters, then bits, such as "bfloat16". */
static const char *type_name(macko_type type, char name[16])
{
  static const struct {
    const char *ours, *theirs;
  } letters[] = {{"bf", "bfloat"}, {"f", "float"}, {"i", "int"}, {"u", "uint"}};
  const char *own = macko_type_name(type);
  size_t length = strcspn(own, "0123456789");
  for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
    if (length == strlen(letters[i].ours) && !strncmp(own, letters[i].ours, length))
      snprintf(name, 16, "%s%s", letters[i].theirs, own + length);
  return name;
}

/* ---- writing ---- */

/* Makes a JSON string of a text. JSON is UTF-8, but names of files can hold any byte; those that are no UTF-8 lose every byte
 * beyond ASCII. */
static json_t *text_of(const char *text)
{
  char plain[sizeof ((macko_origin *)0)->name];
  json_t *json = json_string(text);
  if (json) return json;
  snprintf(plain, sizeof plain, "%s", text);
  for (char *c = plain; *c; c++)
    if (*c & 0x80) *c = '?';
  return json_string(plain);
}

/* Makes a JSON string of an element type. This and the functions below give new references; NULL, for lack of memory, passes
 * through json_pack, which then fails as a whole. */
static json_t *type_of(macko_type type)
{
  char name[16] = "";
  return json_string(type_name(type, name));
}

/* Options are written by name and choice, which outlast changes of the lists better than numbers. */
static json_t *options_of(const macko_options *options)
{
  json_t *json = json_object();
  for (int i = 0; i < MACKO_OPTIONS; i++)
    json_object_set_new(json, macko_option_name(i), json_string(macko_option_choice(i, macko_option_chosen(options, i))));
  return json;
}

/* Gives 0 for infinities and NaN, which JSON does not have. */
static double finite_or_zero(double number)
{
  return isfinite(number) ? number : 0;
}

/* Writes what the plan has and the sections do not tell. */
static json_t *encoding_of(const macko_plan *plan)
{
  json_t *parameters = json_array();
  for (int i = 0; i < MACKO_MAX_PARAMS; i++) json_array_append_new(parameters, json_integer(plan->params[i]));
  json_t *encoding =
    json_pack("{s:s, s:s, s:i, s:s, s:o, s:b, s:I, s:o, s:f, s:f}", "layout", macko_layout_name(plan->layout), "variant",
              macko_variant_name(plan->variant), "gap_bits", plan->gap_bits, "values", macko_values_name(plan->values),
              "stored_type", type_of(plan->stored_type), "lossy", plan->lossy, "dictionary", (json_int_t)plan->table,
              "parameters", parameters, "predicted_nanoseconds", finite_or_zero(plan->time), "of_work", finite_or_zero(plan->work));
  if (encoding && plan->csr_time > 0) json_object_set_new(encoding, "csr_nanoseconds", json_real(finite_or_zero(plan->csr_time)));
  if (encoding && plan->gathers > 0) json_object_set_new(encoding, "of_gathers", json_real(finite_or_zero(plan->gathers)));
  if (encoding && plan->anywhere > 0) json_object_set_new(encoding, "anywhere", json_real(finite_or_zero(plan->anywhere)));
  return encoding;
}

/* Writes the list of sections in the order in which they follow each other. */
static json_t *sections_of(const macko_matrix *m, const macko_container_place *places)
{
  json_t *list = json_array();
  for (int i = 0; i < m->nsections; i++) {
    const macko_section *s = &m->sections[i];
    json_array_append_new(list, json_pack("{s:s, s:o, s:I, s:I, s:I, s:b, s:b}", "name", s->name, "data_type", type_of(s->type),
                                          "offset", (json_int_t)places[i].offset, "bytes", (json_int_t)s->bytes, "crc32",
                                          (json_int_t)places[i].crc32, "pattern", s->pattern, "values", s->values));
  }
  return list;
}

/* Prints the head into memory of malloc. That of jansson may not be given to free, as a program may have given jansson functions
 * of its own to allocate with. Seventeen digits read back as the same doubles. */
static char *print(const json_t *head)
{
  const size_t flags = JSON_INDENT(1) | JSON_REAL_PRECISION(17), length = json_dumpb(head, NULL, 0, flags);
  char *text = length ? malloc(length + 1) : NULL;
  if (text) text[json_dumpb(head, text, length, flags)] = 0;
  return text;
}

macko_status macko_container_write_head(const macko_matrix *m, const macko_origin *origin, const macko_container_place *places,
                                        const char *symmetry, char **text, macko_error *err)
{
  json_t *head = json_pack("{s:s, s:[I, I], s:I, s:o, s:s, s:o, s:o, s:o, s:{s:o, s:o}, s:o}", "format",
                           macko_format_name(m->format), "shape", (json_int_t)m->nrows, (json_int_t)m->ncols,
                           "number_of_stored_values", (json_int_t)m->nnz, "value_type", type_of(m->value_type), "symmetry",
                           symmetry, "encoding", encoding_of(&m->plan), "options", options_of(&m->options), "reason",
                           text_of(m->plan.reason), "source", "name", text_of(origin ? origin->name : ""), "hash",
                           text_of(origin ? origin->hash : ""), "sections", sections_of(m, places));
  if (head && origin && origin->lossy) json_object_set_new(json_object_get(head, "source"), "lossy", json_true());
  *text = head ? print(head) : NULL;
  json_decref(head);
  return *text ? MACKO_OK : macko_fail(err, MACKO_OUT_OF_MEMORY, "no memory to describe a matrix");
}

/* ---- reading ---- */

/* A head being read: name of the file for sentences, and the first failure. After it every function below does nothing and gives
 * 0 or "", so that readers need not ask after each step. */
typedef struct {
  const char *name;
  macko_status status;
  macko_error *err;
} reader;

/* Gives the member of that key, which the object keeps, or NULL where it is missing or of the wrong type. right = 1 says that the
 * caller has found the type to be right, as true and false are two types; kind is what a sentence says it should be. */
static json_t *member(reader *r, const json_t *object, const char *key, int right, json_type type, const char *kind)
{
  json_t *found = json_object_get(object, key);
  if (r->status || (found && (right || json_typeof(found) == type))) return found;
  r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: \"%s\" in its head is %s, not %s", r->name, key,
                         found ? "something else" : "missing", kind);
  return NULL;
}

/* Gives the text of that key, which the object keeps. */
static const char *get_text(reader *r, const json_t *object, const char *key)
{
  const char *text = json_string_value(member(r, object, key, 0, JSON_STRING, "a text"));
  return text && !r->status ? text : "";
}

/* Gives the number, if it is an integer in least .. most. */
static int64_t check_integer(reader *r, const json_t *found, const char *key, int64_t least, int64_t most)
{
  int64_t value = r->status ? 0 : json_integer_value(found);
  if (r->status) return 0;
  if (json_is_integer(found) && value >= least && value <= most) return value;
  r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: \"%s\" in its head is %lld, outside %lld..%lld, or no integer", r->name, key,
                         (long long)value, (long long)least, (long long)most);
  return 0;
}

/* Gives the integer of that key, if it is in least .. most. */
static int64_t get_integer(reader *r, const json_t *object, const char *key, int64_t least, int64_t most)
{
  return check_integer(r, member(r, object, key, 0, JSON_INTEGER, "an integer"), key, least, most);
}

/* Gives the truth value of that key. */
static int get_flag(reader *r, const json_t *object, const char *key)
{
  const json_t *found = json_object_get(object, key);
  found = member(r, object, key, found && json_is_boolean(found), JSON_TRUE, "true or false");
  return found && json_is_true(found);
}

/* Gives element i of the array of that key, which must have `count` elements, if it is in least .. most. */
static int64_t get_element(reader *r, const json_t *object, const char *key, size_t count, size_t i, int64_t least, int64_t most)
{
  const json_t *array = member(r, object, key, 0, JSON_ARRAY, "a list");
  if (!r->status && json_array_size(array) != count)
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: \"%s\" in its head has %zu elements, not %zu", r->name, key,
                           json_array_size(array), count);
  return r->status ? 0 : check_integer(r, json_array_get(array, i), key, least, most);
}

/* Gives the element type of that key. */
static macko_type get_type(reader *r, const json_t *object, const char *key)
{
  char name[16] = "";
  const char *text = get_text(r, object, key);
  for (int t = 0; t < MACKO_TYPE_COUNT; t++)
    if (!strcmp(text, type_name((macko_type)t, name))) return (macko_type)t;
  if (!r->status)
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: \"%s\" in its head is \"%.40s\", which is no type", r->name, key, text);
  return MACKO_F64;
}

/* Sets one option from the member of its name. One that is not there came with a later version than the file, and keeps its
 * default. */
static void get_option(reader *r, const json_t *object, const char *key, macko_options *options)
{
  macko_error why;
  if (r->status || !json_object_get(object, key)) return;
  const char *text = get_text(r, object, key);
  if (!r->status && macko_options_set(options, key, text, &why))
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: in its head %.400s", r->name, why.text);
}

/* Sets the format of m. One that this version does not have is no damage, but UNSUPPORTED. */
static void get_format(reader *r, const json_t *head, macko_matrix *m)
{
  const char *text = get_text(r, head, "format");
  for (int f = 0; f < MACKO_FORMAT_AUTO && !m->ops; f++)
    if (!strcmp(text, macko_format_name((macko_format)f))) m->format = (macko_format)f, m->ops = macko_formats[f];
  if (!m->ops && !r->status)
    r->status = macko_fail(r->err, MACKO_UNSUPPORTED, "%s: holds format \"%.40s\", which this version of macko does not have",
                           r->name, text);
}

/* Reads the options as they were asked for. They must be such as the format has, because refresh goes by them again. */
static void get_options(reader *r, const json_t *head, macko_matrix *m)
{
  const json_t *object = member(r, head, "options", 0, JSON_OBJECT, "an object");
  macko_error why = {0};
  macko_options_init(&m->options);
  for (int i = 0; i < MACKO_OPTIONS; i++) get_option(r, object, macko_option_name(i), &m->options);
  macko_options named = m->options;
  named.format = m->format;
  if (r->status) return;
  if (m->options.format != m->format && m->options.format != MACKO_FORMAT_AUTO)
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: holds format %s, where %s was asked for", r->name,
                           macko_format_name(m->format), macko_format_name(m->options.format));
  else if (macko_options_check(&named, &why))
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: its options cannot be: %.400s", r->name, why.text);
}

/* Gives a number of nanoseconds that a head may lack, 0 then. */
static double get_time(reader *r, const json_t *object, const char *key)
{
  return json_object_get(object, key) ? json_number_value(member(r, object, key, 0, JSON_REAL, "a number")) : 0;
}

/* Reads the plan. It takes any numbers that fit: validate of the format says which of them can be. */
static void get_encoding(reader *r, const json_t *head, macko_plan *plan)
{
  const json_t *object = member(r, head, "encoding", 0, JSON_OBJECT, "an object");
  macko_options names;
  macko_options_init(&names);
  get_option(r, object, "layout", &names), get_option(r, object, "variant", &names), get_option(r, object, "values", &names);
  plan->layout = names.layout, plan->variant = names.variant, plan->values = names.values;
  plan->gap_bits = (int)get_integer(r, object, "gap_bits", 0, 64);
  plan->stored_type = get_type(r, object, "stored_type");
  plan->lossy = get_flag(r, object, "lossy");
  plan->table = get_integer(r, object, "dictionary", 0, INT64_MAX);
  for (size_t i = 0; i < MACKO_MAX_PARAMS; i++)
    plan->params[i] = get_element(r, object, "parameters", MACKO_MAX_PARAMS, i, INT64_MIN, INT64_MAX);
  plan->time = json_number_value(member(r, object, "predicted_nanoseconds", 0, JSON_REAL, "a number"));
  plan->work = json_number_value(member(r, object, "of_work", 0, JSON_REAL, "a number"));
  plan->csr_time = get_time(r, object, "csr_nanoseconds"), plan->gathers = get_time(r, object, "of_gathers");
  plan->anywhere = get_time(r, object, "anywhere");
  snprintf(plan->reason, sizeof plan->reason, "%s", get_text(r, head, "reason"));
}

/* Gives the format's own text for the name of a section. It lasts as long as the library, while that of the head is freed. A name
 * that comes twice is refused, because sections are found by name. */
static const char *known_name(reader *r, const macko_matrix *m, const char *text)
{
  for (int i = 0; i < m->nsections; i++)
    if (!r->status && !strcmp(m->sections[i].name, text))
      r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: its head lists section %s twice", r->name, m->sections[i].name);
  for (const char *const *name = m->ops->section_names; !r->status && name && *name; name++)
    if (!strcmp(*name, text)) return *name;
  if (!r->status)
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: its head lists section \"%.40s\", which format %s does not have", r->name,
                           text, macko_format_name(m->format));
  return "";
}

/* Reads one section and appends it to m. Sections follow each other, each at the first boundary after the one before, which is
 * `offset`: so no file can make two of them overlap. */
static void get_section(reader *r, const json_t *object, macko_matrix *m, macko_container_place *place, int64_t offset)
{
  macko_section s = {.name = known_name(r, m, get_text(r, object, "name")), .type = get_type(r, object, "data_type")};
  s.bytes = get_integer(r, object, "bytes", 0, INT64_MAX / 64);
  s.pattern = get_flag(r, object, "pattern"), s.values = get_flag(r, object, "values");
  place->offset = get_integer(r, object, "offset", 0, INT64_MAX);
  place->crc32 = (uint32_t)get_integer(r, object, "crc32", 0, UINT32_MAX);
  if (!r->status && (s.bytes % macko_type_bytes(s.type) || place->offset != offset))
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: section %s of %lld bytes at %lld cannot be; it should begin at %lld",
                           r->name, s.name, (long long)s.bytes, (long long)place->offset, (long long)offset);
  if (!r->status) m->plan.bytes += s.bytes, m->sections[m->nsections++] = s;
}

/* Reads the list of sections. */
static void get_sections(reader *r, const json_t *head, macko_matrix *m, macko_container_place *places)
{
  const json_t *list = member(r, head, "sections", 0, JSON_ARRAY, "a list");
  size_t count = json_array_size(list);
  int64_t offset = 0;
  if (!r->status && count > MACKO_MAX_SECTIONS)
    r->status = macko_fail(r->err, MACKO_CORRUPT, "%s: its head lists %zu sections; a matrix has at most %d", r->name, count,
                           MACKO_MAX_SECTIONS);
  for (size_t i = 0; i < count && !r->status; i++) {
    get_section(r, json_array_get(list, i), m, &places[i], offset);
    if (!r->status) offset = macko_container_align(offset + m->sections[i].bytes);
  }
}

/* Reads where the matrix came from; what is too long is cut. */
static void get_origin(reader *r, const json_t *head, macko_origin *origin)
{
  const json_t *source = member(r, head, "source", 0, JSON_OBJECT, "an object");
  snprintf(origin->name, sizeof origin->name, "%s", get_text(r, source, "name"));
  snprintf(origin->hash, sizeof origin->hash, "%s", get_text(r, source, "hash"));
  origin->lossy = json_object_get(source, "lossy") && get_flag(r, source, "lossy");
}

macko_status macko_container_read_head(const char *name, const char *text, int64_t bytes, macko_matrix *m,
                                       macko_container_place *places, macko_origin *origin, macko_error *err)
{
  reader r = {name, MACKO_OK, err};
  json_error_t why;
  json_t *head = json_loadb(text, (size_t)bytes, JSON_REJECT_DUPLICATES, &why);
  if (!head) {
    if (json_error_code(&why) == json_error_out_of_memory)
      return macko_fail(err, MACKO_OUT_OF_MEMORY, "%s: no memory to read its head", name);
    return macko_fail(err, MACKO_CORRUPT, "%s: line %d of its head is no JSON: %.150s", name, why.line, why.text);
  }
  /* The limits are those of macko_validate, which does not see a head that is read alone. */
  m->nrows = get_element(&r, head, "shape", 2, 0, 0, INT64_MAX / 64);
  m->ncols = get_element(&r, head, "shape", 2, 1, 0, INT64_MAX);
  m->nnz = get_integer(&r, head, "number_of_stored_values", 0, INT64_MAX / 64);
  m->value_type = get_type(&r, head, "value_type");
  get_format(&r, head, m);
  get_encoding(&r, head, &m->plan);
  get_options(&r, head, m);
  get_sections(&r, head, m, places);
  get_origin(&r, head, origin);
  json_decref(head);
  return r.status;
}

#endif
