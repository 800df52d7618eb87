#include "runtime/simulate/selftest.h"

#include <doctest/doctest.h>

namespace expc::simulate {

TEST_CASE("intervals and verdicts keep what the docs promise, whatever the noise, the looks and the stops") {
  const std::vector<Promise> promises = examineStatistics(300, 1);
  CHECK(promises.size() == 24);
  for (const Promise& promise : promises) {
    CAPTURE(promise.noise);
    CAPTURE(promise.design);
    CAPTURE(promise.coverage);
    CAPTURE(promise.false_passes);
    CAPTURE(promise.false_fails);
    CHECK(promise.kept);
  }
}

}  // namespace expc::simulate
