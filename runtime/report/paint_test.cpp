#include "runtime/report/paint.h"

#include <doctest/doctest.h>

using namespace expc::report;

TEST_CASE("colour only where asked") {
  CHECK(Paint(false).red("x") == "x");
  CHECK(Paint(true).red("x") == "\033[1;31mx\033[0m");
}
