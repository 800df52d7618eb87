#include "runtime/report/layout.h"

#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>

using namespace expc::report;

TEST_CASE("widths are display columns") {
  CHECK(displayWidth("abc") == 3);
  CHECK(displayWidth("é–×") == 3);
  CHECK(displayWidth("中文") == 4);
}

TEST_CASE("text from outside cannot steer the terminal") {
  CHECK(printable("a\033[31mb\nc\td") == "a\\x1b[31mb c d");
  CHECK(printable("bad \xff") == "bad \xef\xbf\xbd");
  CHECK(printable("\xc2\x9b"
                  "2J\x7f") == "\\u009b2J\\u007f");
  CHECK(printable("\u202eSSAP\u2066\u2028") == "\\u202eSSAP\\u2066\\u2028");
  CHECK(printable("µs 中 … – “a”") == "µs 中 … – “a”");
}

TEST_CASE("paragraphs keep to the width") {
  CHECK(wrapped("one two three", 7, 0) == "one two\nthree");
  CHECK(wrapped("one two three", 9, 2) == "one two\n  three");
  CHECK(wrapped("unbreakable", 4, 0) == "unbreakable");
  CHECK(wrapped("", 4, 0) == "");
}

TEST_CASE("a table aligns labels left and values right") {
  TextTable table{{{"gpus", "time", "size"}, {"1", "41.2 ms", "5"}, {"16", "9 µs", "123456"}}};
  CHECK(table.naturalWidth(2) == 23);
  CHECK(table.render(80, 2, Paint(false)) ==
        "  gpus     time    size\n"
        "  1     41.2 ms       5\n"
        "  16       9 µs  123456\n");
}

TEST_CASE("a table that is too wide is cut between columns, with its labels in each part") {
  TextTable table{{{"gpus", "fp64", "fp32", "bf16"}, {"1", "aaaaaaaa", "bbbbbbbb", "cccccccc"}}};
  CHECK(table.render(26, 0, Paint(false)) ==
        "gpus      fp64      fp32\n"
        "1     aaaaaaaa  bbbbbbbb\n"
        "\n"
        "gpus      bf16\n"
        "1     cccccccc\n");
  // Narrower than any column: one each, and it ends.
  CHECK(table.render(1, 0, Paint(false)).find("cccccccc") != std::string::npos);
}

TEST_CASE("prose in the last column is wrapped, cells may have lines") {
  TextTable table{{{"a", "why"}, {"1", "some words that take more than the room there is here"}}, 1, true};
  CHECK(table.render(30, 0, Paint(false)) ==
        "a  why\n"
        "1  some words that take more\n"
        "   than the room there is here\n");
  TextTable lines{{{"a", "b"}, {"1", "2.0x\n[1, 3]"}}};
  CHECK(lines.render(30, 0, Paint(false)) == "a       b\n1    2.0x\n   [1, 3]\n");
}

TEST_CASE("prose that does not fit beside the other columns has a part for itself, of the rows that have some") {
  TextTable table{{{"point", "estimate", "why"},
                   {"a", "1.23x [1.00x, 1.50x]", ""},
                   {"b", "4.56x [1.00x, 9.50x]", "does not decide the bound"}},
                  1,
                  true};
  CHECK(table.render(40, 0, Paint(false)) ==
        "point              estimate\n"
        "a      1.23x [1.00x, 1.50x]\n"
        "b      4.56x [1.00x, 9.50x]\n"
        "\n"
        "point  why\n"
        "b      does not decide the bound\n");
}

TEST_CASE("colour only where asked") {
  CHECK(Paint(false).red("x") == "x");
  CHECK(Paint(true).red("x") == "\033[1;31mx\033[0m");
}

TEST_CASE("a long name keeps its beginning and its end") {
  CHECK(elided("short", 10) == "short");
  CHECK(elided("0123456789", 10) == "0123456789");
  CHECK(elided("0123456789a", 10) == "0123…6789a");
  for (unsigned width = 3; width < 12; ++width) {
    const std::string text = elided("ééééééééééééé", width);
    CHECK(displayWidth(text) <= width);
    CHECK(llvm::json::isUTF8(text));
  }
}
