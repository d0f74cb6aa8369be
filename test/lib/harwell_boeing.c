/* Harwell-Boeing and Rutherford-Boeing files in the shapes that collections and Fortran programs give them. Every case is the
 * matrix
 *     1    0   -3
 *     2.5  0    4
 * or, where it must be square, the lower triangle of a 2 x 2 one. */
#include "readers.h"
#include "suite.h"

#include <stdio.h>
#include <string.h>

static const struct {
  const char *name, *counts, *type, *formats, *data, *kind;
} files[] = {
  {"a.rua", "             3             1             1             1             0", "RUA",
   "(16I5)          (16I5)          (4E20.12)",
   "    1    3    3    5\n    1    2    1    2\n"
   "  1.000000000000E+00  2.500000000000E+00 -3.000000000000E+00  4.000000000000E+00\n",
   "Harwell-Boeing real unsymmetric"},
  {"fields-without-blanks.rb", "3 1 1 1", "rra", "(4I1)           (2I1)           (4E10.3)",
   "1335\n12\n12\n 1.000E+00 2.500E+00-3.000E+00 4.000E+00\n", "Rutherford-Boeing real rectangular"},
  {"scale-and-d.hb", "3 1 1 1 0", "RUA", "(16I5)          (16I5)          (1P,2D12.4)         ",
   "    1    3    3    5\n    1    2    1    2\n  1.0000D+00  2.5000d+00\n -3.0000D+00  4.0000D+00\n",
   "Harwell-Boeing real unsymmetric"},
  {"scale-without-comma", "3 1 1 1 0", "RUA", "(16I5)          (16I5)          (1P2E12.4)          ",
   "    1    3    3    5\n    1    2    1    2\n  1.0000E+00  2.5000E+00\n -3.0000E+00  4.0000E+00\n",
   "Harwell-Boeing real unsymmetric"},
  {"point-implied.hb", "3 1 1 1 0", "RUA", "(16I5)          (16I5)          (4F6.2)             ",
   "    1    3    3    5\n    1    2    1    2\n   100   250  -3.0   400\n", "Harwell-Boeing real unsymmetric"},
  {"scale-without-exponent.hb", "3 1 1 1 0", "RUA", "(16I5)          (16I5)          (2P,4F7.1)          ",
   "    1    3    3    5\n    1    2    1    2\n  100.0  2.5E0 -300.0   4000\n", "Harwell-Boeing real unsymmetric"},
  {"exponent-without-letter.hb", "3 1 1 1 0", "RUA", "(16I5)          (16I5)          (4G13.3)            ",
   "    1    3    3    5\n    1    2    1    2\n   0.1000+001    250.0-002    -0.3E+001          4.0\n",
   "Harwell-Boeing real unsymmetric"},
  {"skips-and-groups.hb", "3 1 1 1 0", "RUA", "(2(1X,2I3))     (1X,4(I2,1X))   (2(E9.2,2X))        ",
   "   1  3   3  5\n  1  2  1  2\n 1.00E+00   2.50E+00\n-3.00E+00   4.00E+00\n", "Harwell-Boeing real unsymmetric"},
  {"lines-from-the-last-group-on.hb", "7 2 2 2 0", "RUA", "(2X,2(1X,I2))   (1X,(2I1))      (2X,2(F4.1))        ",
   "    1  3\n  3  5\n 12\n12\n   1.0 2.5\n-3.0 4.0\n", "Harwell-Boeing real unsymmetric"},
  {"group-behind-the-first-fields.hb", "6 2 2 2 0", "RUA", "(I3,2(I4))      (16I5)          (1P,E10.2,(0P,1(F5.1)))",
   "  1   3   3\n   5\n    1    2    1    2\n  1.00E+00  2.5\n -3.0\n  4.0\n", "Harwell-Boeing real unsymmetric"},
  {"scale-of-the-line-before.hb", "5 1 1 2 0", "RUA", "(16I5)          (16I5)          (F8.2,1P,F8.2)      ",
   "    1    3    3    5\n    1    2    1    2\n    1.00   25.00\n  -30.00   40.00\n", "Harwell-Boeing real unsymmetric"},
  {"integers.rb", "3 1 1 1", "iua", "(16I5)          (16I5)          (10I8)              ",
   "    1    3    3    5\n    1    2    1    2\n       1       2      -3       4\n", "Rutherford-Boeing integer unsymmetric"},
  {"blank-behind-a-number.hb", "3 1 1 1 0", "RUA", "(16 I5)         (16I5)          (1 P,4 E10.2)       ",
   "    1    3    3    5\n    1    2    1    2\n  1.00E+00  2.50E+00 -3.00E+00  4.00E+00\n", "Harwell-Boeing real unsymmetric"},
  {"right-hand-sides.rua", "3 1 1 1 1", "RUA", "(16I5)          (16I5)          (4E10.2)            (4E10.2)            ",
   "F                          1             0\n    1    3    3    5\n    1    2    1    2\n"
   "  1.00E+00  2.50E+00 -3.00E+00  4.00E+00\n  9.00E+00  9.00E+00\n", "Harwell-Boeing real unsymmetric"},
  {"carriage-returns.rua", "3 1 1 1 0\r", "RUA", "(16I5)          (16I5)          (4E10.2)            \r",
   "    1    3    3    5\r\n    1    2    1    2\r\n  1.00E+00  2.50E+00 -3.00E+00  4.00E+00\r\n\r\n",
   "Harwell-Boeing real unsymmetric"},
};

START_TEST(real_files)
{
  char text[2000];
  macko_csr c;
  macko_file_info info;
  macko_error err = {0};
  int whole = !strcmp(files[_i].name, "integers.rb");
  snprintf(text, sizeof text, "A small matrix\n%s\n%s           %14d%14d%14d%14d\n%s\n%s", files[_i].counts,
           files[_i].type, 2, 3, 4, 0, files[_i].formats, files[_i].data);
  ck_assert_msg(!macko_read(test_write(files[_i].name, text, strlen(text)), NULL, &c, &info, &err), "%s", err.text);
  test_check_csr(&c);
  ck_assert_str_eq(info.kind, files[_i].kind);
  ck_assert(c.nrows == 2 && c.ncols == 3 && test_nnz(&c) == 4 && info.stored_entries == 4 && !info.symmetric);
  ck_assert_msg(test_entry(&c, 0, 0) == 1 && test_entry(&c, 1, 0) == (whole ? 2 : 2.5) && test_entry(&c, 0, 2) == -3 &&
                  test_entry(&c, 1, 2) == 4, "%s: %g %g %g %g", files[_i].name, test_entry(&c, 0, 0), test_entry(&c, 1, 0),
                test_entry(&c, 0, 2), test_entry(&c, 1, 2));
  macko_free_csr(&c);
}
END_TEST

/* Symmetric, skew-symmetric and pattern: (1, 1) and (2, 1) are stored, the skew one stores (2, 1) alone. */
START_TEST(triangles_and_patterns)
{
  static const struct {
    const char *type, *body;
    double dense[4];
    int entries, stored;
  } cases[] = {
    {"RSA", "    1    3    3\n    1    2\n       5.0       6.0\n", {5, 6, 6, 0}, 3, 2},
    {"RZA", "    1    2    2\n    2\n       6.0\n", {0, -6, 6, 0}, 2, 1},
    {"PSA", "    1    3    3\n    1    2\n", {1, 1, 1, 0}, 3, 2},
    {"PUA", "    1    3    3\n    2    1\n", {1, 0, 1, 0}, 2, 2},
  };
  char text[2000];
  macko_csr c;
  macko_file_info info;
  macko_error err = {0};
  snprintf(text, sizeof text, "A small matrix\n3 1 1 1 0\n%s           %14d%14d%14d%14d\n%s\n%s", cases[_i].type, 2, 2,
           cases[_i].stored, 0, cases[_i].type[0] == 'P' ? "(16I5) (16I5)" : "(16I5)          (16I5)          (8F10.1)",
           cases[_i].body);
  ck_assert_msg(!macko_read(test_write("triangle", text, strlen(text)), NULL, &c, &info, &err), "%s", err.text);
  test_check_csr(&c);
  ck_assert_int_eq(test_nnz(&c), cases[_i].entries);
  ck_assert_int_eq(info.stored_entries, cases[_i].stored);
  ck_assert_int_eq(info.symmetric, cases[_i].type[1] == 'S');
  for (int k = 0; k < 4; k++) ck_assert(test_entry(&c, k / 2, k % 2) == cases[_i].dense[k]);
  macko_free_csr(&c);
}
END_TEST

int main(void)
{
  Suite *suite = suite_create("harwell_boeing");
  TCase *t = tcase_create("files");
  tcase_add_loop_test(t, real_files, 0, (int)(sizeof files / sizeof *files));
  tcase_add_loop_test(t, triangles_and_patterns, 0, 4);
  suite_add_tcase(suite, t);
  test_make_folder();
  int status = test_run(suite);
  test_remove_folder();
  return status;
}
