/* The container: whatever is done to the bytes of a file, it is refused in a sentence. */
#include "container.h"

#include <string.h>
#include <unistd.h>

enum { PAGE = 4096 };

/* Every bit of header and head, a bit of every byte of sections and of what is between them. */
START_TEST(a_flipped_bit_is_refused)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[_i]);
  test_file f = test_save(m, NULL);
  uint64_t data;
  memcpy(&data, f.bytes + 24, sizeof data);
  for (size_t at = 0; at < f.size; at++)
    for (int bit = at < data ? 0 : (int)(at % 8); bit < (at < data ? 8 : (int)(at % 8) + 1); bit++) {
      unsigned char right = f.bytes[at], wrong = right ^ (unsigned char)(1 << bit);
      test_put(&f, at, &wrong, 1);
      test_refused(&f, NULL);
      test_put(&f, at, &right, 1);
    }
  macko_matrix *read = load(f.name, NULL);
  test_same(m, read, test_encodings[_i].name);
  test_close(&f);
  macko_destroy(&m), macko_destroy(&read), macko_free_csr(&a);
}
END_TEST

/* Checksums are right again: what is let pass can be used. */
START_TEST(a_flipped_bit_that_checksums_hide_does_no_harm)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[_i]);
  test_file f = test_save(m, NULL);
  uint64_t head;
  int passed = 0;
  memcpy(&head, f.bytes + 16, sizeof head);
  for (size_t at = HEADER; at < HEADER + head; at++)
    for (int bit = 0; bit < 8; bit++) {
      unsigned char right = f.bytes[at], wrong = right ^ (unsigned char)(1 << bit);
      macko_matrix *read = NULL;
      test_put(&f, at, &wrong, 1);
      test_repair(&f);
      if (macko_load(f.name, &read, NULL, NULL)) test_refused(&f, NULL);
      else {
        macko_refresh(read, &a, NULL);
        test_same(read, read, "changed");
        passed++;
      }
      macko_destroy(&read);
      test_put(&f, at, &right, 1);
    }
  ck_assert_int_ge(passed, 1); /* words of the reason */
  test_close(&f);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

static void refused_cut(const test_file *f, size_t size)
{
  test_file cut = test_file_of(f->bytes, size);
  test_refused(&cut, NULL);
  test_close(&cut);
}

START_TEST(a_file_cut_short_is_refused)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[_i]);
  test_file f = test_save(m, NULL);
  static const size_t odd[] = {0, 1, 7, 8, 9, 23, 63, 64, 65, 1000};
  for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) refused_cut(&f, odd[i]);
  for (size_t page = PAGE; page <= f.size; page += PAGE)
    for (size_t size = page - 1; size <= page + 1 && size < f.size; size++) refused_cut(&f, size);
  test_file cut = test_file_of(f.bytes, f.size - 1), longer = test_file_of(f.bytes, f.size);
  test_refused(&cut, "where its header says");
  ck_assert(!ftruncate(longer.file, (off_t)f.size + 1));
  test_refused(&longer, "where its header says");
  test_close(&f), test_close(&cut), test_close(&longer);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

/* Every field, with checksums that hide the change. */
static const struct {
  int encoding;
  const char *from, *to, *words;
} fields[] = {
    {0, "\"format\": \"csr\"", "\"format\": \"dia\"", "format \"dia\", which this version of macko does not have"},
    {0, "\"format\": \"csr\"", "\"format\": 1", "\"format\" in its head is something else, not a text"},
    {0, "\"shape\"", "\"shap\"", "\"shape\" in its head is missing"},
    {0, "  45,\n", "  44,\n", "section 0 should be row_ptr"},
    {0, "  45,\n", "  -5,\n", "\"shape\" in its head is -5"},
    {0, "  45,\n", "  4.,\n", "is no JSON"},
    {0, "  50\n", "  19\n", "outside 0..18"},
    {0, "number_of_stored_values\": 2", "number_of_stored_values\": 1", "section 1 should be cols"},
    {0, "\"value_type\": \"float64\"", "\"value_type\": \"float32\"", "values of type f32 are stored as"},
    {0, "\"value_type\": \"float64\"", "\"value_type\": \"float65\"", "\"float65\", which is no type"},
    {1, "\"layout\": \"row\"", "\"layout\": \"sli\"", "layout \"sli\" is unknown"},
    {2, "\"layout\": \"slice\"", "\"layout\": \"paper\"", NULL},
    {4, "\"variant\": \"split\"", "\"variant\": \"joint\"", NULL},
    {1, "\"gap_bits\": ", "\"gap_bits\":9", NULL},
    {1, "\"values\": \"dict\"", "\"values\": \"true\"", "values \"true\" is unknown"},
    {1, "\"stored_type\": \"uint8\"", "\"stored_type\": \"int8\"", NULL},
    {1, "\"lossy\": false", "\"lossy\": \"no\"", "not true or false"},
    {1, "\"dictionary\": ", "\"dictionary\":-", NULL},
    {2, "\"parameters\": [", "\"parameters\": {", "is no JSON"},
    {3, "\"parameters\": [\n   ", "\"parameters\": [1,", "\"parameters\" in its head has 11 elements"},
    {0, "\"predicted_nanoseconds\": ", "\"predicted_nanoseconds\":[", "is no JSON"},
    {0, "\"of_work\": ", "\"off_work\":", "\"of_work\" in its head is missing"},
    {0, "\"options\": {", "\"option_\": {", "\"options\" in its head is missing"},
    {0, "\"format\": \"csr\",\n  \"layout\": \"auto\"", "\"format\": \"csr\",\"layout\": \"row\"", "its options cannot be"},
    {1, "\"format\": \"macko\",\n  \"layout\"", "\"format\": \"csr\",\n  \"layout\"", "where csr was asked for"},
    {0, "\"reason\"", "\"raison\"", "\"reason\" in its head is missing"},
    {0, "\"source\"", "\"sauce\"", "\"source\" in its head is missing"},
    {0, "\"sections\"", "\"session\"", "\"sections\" in its head is missing"},
    {0, "\"name\": \"cols\"", "\"name\": \"rows\"", "section \"rows\", which format csr does not have"},
    {0, "\"name\": \"row_ptr\"", "\"name\": \"cols\"", "lists section cols twice"},
    {0, "\"data_type\": \"int32\",\n  ", "\"data_type\": \"uint32\",", NULL},
    {0, "\"data_type\": \"int32\"", "\"data_type\": \"int8\"", "should be row_ptr"},
    {0, "\"offset\": 4096", "\"offset\": 4095", "it should begin at 4096"},
    {0, "\"bytes\": 184", "\"bytes\": 180", NULL},
    {0, "\"bytes\": 184", "\"bytes\": 183", "section row_ptr of 183 bytes"},
    {0, "\"crc32\": ", "\"crc32\":1", NULL},
    {0, "\"pattern\": true,\n  ", "\"pattern\": false,", NULL},
    {0, "\"pattern\": true", "\"pattern\": null", "not true or false"},
    {4, "\"values\": true", "\"values\": null", "not true or false"},
    {0, "\"hash\": ", "\"name\":", "duplicate"}};
enum { FIELDS = sizeof fields / sizeof *fields };

START_TEST(a_changed_field_is_refused)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[fields[_i].encoding]);
  test_file f = test_save(m, NULL);
  ck_assert_msg(test_replace(&f, fields[_i].from, fields[_i].to), "no %s in %s", fields[_i].from, f.bytes + HEADER);
  test_refused(&f, fields[_i].words);
  test_close(&f);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

START_TEST(other_files_are_named)
{
  macko_csr a = test_golden_csr();
  macko_matrix *m = test_encode(&a, &test_encodings[0]);
  test_file f = test_save(m, NULL), text = test_file_of("%%MatrixMarket matrix", 21), empty = test_file_of("", 0);
  const unsigned char big[] = {1, 2, 3, 4}, newer = 2;
  test_put(&f, 12, &newer, 1);
  test_refused(&f, "is of version 2, and this version of macko reads up to 1");
  test_put(&f, 8, big, sizeof big);
  test_refused(&f, "is big-endian, and this version of macko reads little-endian files only");
  test_refused(&text, "is no file of macko_save");
  test_refused(&empty, "is no file of macko_save");
  test_close(&f), test_close(&text), test_close(&empty);
  macko_destroy(&m), macko_free_csr(&a);
}
END_TEST

void add_damage_tests(TCase *t)
{
  tcase_add_loop_test(t, a_flipped_bit_is_refused, 0, TEST_ENCODINGS);
  tcase_add_loop_test(t, a_flipped_bit_that_checksums_hide_does_no_harm, 0, TEST_ENCODINGS);
  tcase_add_loop_test(t, a_file_cut_short_is_refused, 0, TEST_ENCODINGS);
  tcase_add_loop_test(t, a_changed_field_is_refused, 0, FIELDS);
  tcase_add_test(t, other_files_are_named);
}
