#include "runtime/data/images/alike.h"

#include <doctest/doctest.h>

#include <utility>

#include "runtime/data/images/open.h"

using namespace expc::data;

TEST_CASE("images with the same pixels and shape are alike") {
  const std::vector<uint8_t> one(12, 7), other(12, 8);
  const uint64_t digest = digestOf({one.data(), 2, 2, 3});
  CHECK(digest == digestOf({std::vector<uint8_t>(one).data(), 2, 2, 3}));
  CHECK(digest != digestOf({other.data(), 2, 2, 3}));
  CHECK(digest != digestOf({one.data(), 1, 4, 3}));
  CHECK(countAmong({1, 2, 2, 3}, {2, 3, 4}) == 3);
  CHECK(countAmong({}, {1}) == 0);
}

TEST_CASE("test images among the training images are counted") {
  ImageSets sets = llvm::cantFail(synthetic(20));
  CHECK(countAlike(sets) == 0);
  ImageSets same = llvm::cantFail(synthetic(20));
  sets.test = std::move(same.train);
  CHECK(countAlike(sets) == 20);
}
