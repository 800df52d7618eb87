#include <doctest/doctest.h>

#include <fstream>

#include "runtime/data/dataset/inspect_rows.h"
#include "tests/support/folder.h"
#include "tests/support/text/has.h"

namespace expc::dataset {
namespace {

TEST_CASE("bins hold every length once and leave no gap") {
  for (const std::vector<int64_t>& lengths :
       {std::vector<int64_t>{2}, {2, 3}, {7, 7, 9}, {31, 119, 76}, {2, 131072}, {100, 131072}, {64, 127, 64}}) {
    const auto bins = binsOf(lengths);
    REQUIRE(!bins.empty());
    CHECK(bins.size() <= 20);
    int64_t rows = 0;
    for (size_t i = 0; i < bins.size(); ++i) {
      CHECK(bins[i].first <= bins[i].last);
      if (i > 0) CHECK(bins[i].first == bins[i - 1].last + 1);
      for (const int64_t length : lengths) rows += bins[i].first <= length && length <= bins[i].last;
    }
    CHECK(rows == int64_t(lengths.size()));
    CHECK(bins.front().rows > 0);
    CHECK(bins.back().rows > 0);
  }
  CHECK(binsOf({}).empty());
}

TEST_CASE("a plan does not refuse held-out rows because of those that it did not read") {
  const test::TestFolder folder;
  const std::string off = R"({"input": "a", "output": "b", "weight": 0})";
  std::ofstream(folder / "data.jsonl") << R"({"input": "a", "output": "b"})";
  std::ofstream(folder / "other.jsonl") << off << "\n" << off << "\n";
  RowsSource source;
  source.rows.data = {.path = folder / "data.jsonl", .kind = text::Template::Grammar, .byte_limit = off.size()};
  source.validation = folder / "other.jsonl";
  std::vector<std::string> in_part;
  CHECK(toString(checkRows(source, true, 1, in_part)).empty());
  CHECK(in_part == std::vector<std::string>{folder / "other.jsonl" + " after row 1"});
  source.rows.data.byte_limit = 0;
  CHECK(test::has(toString(checkRows(source, true, 1, in_part)), "all its answers have weight 0"));
}

}  // namespace
}  // namespace expc::dataset
