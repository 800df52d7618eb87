#include "compiler/check/value/formula.h"

#include <doctest/doctest.h>

#include <vector>

using namespace expc;

namespace {

using Indices = std::vector<size_t>;

struct Ordered {
  explicit Ordered(const std::vector<Indices>& needs) {
    check::inOrder(
        needs.size(),
        [&](size_t at, auto visit) {
          for (size_t needed : needs[at]) visit(needed);
        },
        [&](size_t at) { order.push_back(at); }, [&](size_t at) { cycles.push_back(at); });
  }
  Indices order, cycles;
};

}  // namespace

TEST_CASE("each comes once, after what it needs") {
  Ordered ordered({{2, 1}, {}, {1}, {0, 2}});
  CHECK(ordered.order == Indices{1, 2, 0, 3});
  CHECK(ordered.cycles.empty());
}

TEST_CASE("what needs itself is told and still comes once") {
  Ordered alone({{0}, {}});
  CHECK(alone.order == Indices{0, 1});
  CHECK(alone.cycles == Indices{0});
  Ordered round({{1}, {2}, {0}});
  CHECK(round.order == Indices{2, 1, 0});
  CHECK(round.cycles == Indices{0});
}
