#include <doctest/doctest.h>

#include "runtime/data/dataset/inspect_rows.h"

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
    CHECK(rows == static_cast<int64_t>(lengths.size()));
    CHECK(bins.front().rows > 0);
    CHECK(bins.back().rows > 0);
  }
  CHECK(binsOf({}).empty());
}

}  // namespace
}  // namespace expc::dataset
