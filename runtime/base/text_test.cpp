#include "runtime/base/text.h"

#include <doctest/doctest.h>
#include <llvm/Support/JSON.h>

#include "runtime/base/printable.h"

using namespace expc::base;

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

TEST_CASE("counts have their noun, and a shell's words their quotes") {
  CHECK(counted(1, "point") == "1 point");
  CHECK(counted(0, "point") == "0 points");
  CHECK(counted(2, "process") == "2 processes");
  CHECK(shellWord("a-b/c=1.5,x:y+@%") == "a-b/c=1.5,x:y+@%");
  CHECK(shellWord("") == "''");
  CHECK(shellWord("it's") == "'it'\\''s'");
}
