#include <doctest/doctest.h>

#include <string>

#include "compiler/editor/workspace.h"

using namespace expc::editor;

TEST_CASE("columns count bytes or UTF-16 units") {
  // ö: two bytes, one unit. The wrench: four bytes, two units.
  const LineIndex index("a\n\"ö🔧\" x\n");
  const size_t x = 2 + 1 + 2 + 4 + 1 + 1;
  CHECK(index.position(x, Encoding::Utf8) == Position{1, 9});
  CHECK(index.position(x, Encoding::Utf16) == Position{1, 6});
  CHECK(index.offset({1, 9}, Encoding::Utf8) == x);
  CHECK(index.offset({1, 6}, Encoding::Utf16) == x);
}

TEST_CASE("a place inside a character is its beginning") {
  const LineIndex index("🔧x");
  CHECK(index.position(2, Encoding::Utf16) == Position{0, 0});
  CHECK(index.offset({0, 1}, Encoding::Utf16) == 0);
  CHECK(index.offset({0, 2}, Encoding::Utf16) == 4);
  CHECK(index.offset({0, 3}, Encoding::Utf8) == 0);
}

TEST_CASE("places beyond lines and text stand for their ends") {
  const LineIndex index("ab\r\ncd\re");
  CHECK(index.offset({0, 99}, Encoding::Utf16) == 2);
  CHECK(index.offset({1, 99}, Encoding::Utf8) == 6);
  CHECK(index.offset({2, 0}, Encoding::Utf8) == 7);
  CHECK(index.offset({99, 0}, Encoding::Utf8) == 8);
  CHECK(index.position(99, Encoding::Utf8) == Position{2, 1});
  CHECK(index.position(3, Encoding::Utf8) == Position{0, 2});  // between CR and LF
  CHECK(LineIndex("").offset({3, 3}, Encoding::Utf8) == 0);
}

TEST_CASE("every byte that begins a character comes back") {
  const std::string text = "let a = \"grün 🙂\"\r\n// naïve\nx";
  const LineIndex index(text);
  for (const Encoding encoding : {Encoding::Utf8, Encoding::Utf16})
    for (size_t at = 0; at <= text.size(); ++at) {
      const bool inside = at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
      const bool line_end = at < text.size() && text[at] == '\n' && at > 0 && text[at - 1] == '\r';
      if (inside || line_end) continue;
      CHECK(index.offset(index.position(at, encoding), encoding) == at);
    }
}
