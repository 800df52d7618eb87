#include "compiler/diag/source.h"

#include <doctest/doctest.h>

using namespace expc::source;

TEST_CASE("positions count lines and code points") {
  SourceManager sources;
  FileId file = sources.add("a.exp", "one\r\ntwö x\n\nend");
  CHECK(sources.name(file) == "a.exp");
  CHECK(sources.position(file, 0).line == 1);
  CHECK(sources.position(file, 5).line == 2);
  CHECK(sources.position(file, 5).column == 1);
  CHECK(sources.position(file, 10).column == 5);  // x, after a letter of two bytes and a space
  CHECK(sources.position(file, 12).line == 3);
  CHECK(sources.position(file, 999).line == 4);
  CHECK(sources.position(file, 999).column == 4);
}

TEST_CASE("lines come without their ends") {
  SourceManager sources;
  FileId file = sources.add("a.exp", "one\r\ntwo\n\nend");
  uint32_t begin = 99;
  CHECK(sources.line(file, 2, &begin) == "one");
  CHECK(begin == 0);
  CHECK(sources.line(file, 4) == "one");
  CHECK(sources.line(file, 6, &begin) == "two");
  CHECK(begin == 5);
  CHECK(sources.line(file, 9).empty());
  CHECK(sources.line(file, 13) == "end");
}

TEST_CASE("texts stay where they are when files are added") {
  SourceManager sources;
  FileId first = sources.add("a", "short");
  std::string_view text = sources.text(first);
  for (int at = 0; at < 100; ++at) sources.add("b", "other");
  CHECK(sources.text(first).data() == text.data());
  CHECK(sources.text(Range{first, 1, 3}) == "ho");
  CHECK(sources.text(Range{first, 3, 99}) == "rt");
}

TEST_CASE("ranges join") {
  FileId file{0};
  CHECK(join({file, 4, 6}, {file, 1, 5}) == Range{file, 1, 6});
  CHECK(join({}, {file, 1, 5}) == Range{file, 1, 5});
}
