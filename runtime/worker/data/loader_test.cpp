#include "runtime/worker/data/loader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>

namespace expc::data {
namespace {

/// Items are their own index; preparing one takes a time that makes threads finish out of order.
class Numbers : public Source {
 public:
  int64_t items = 100;
  int64_t bad = -1, thrown = -1;
  bool slow = false;
  mutable std::atomic<int64_t> filled{0};

  int64_t count() const override { return items; }
  int64_t imageBytes() const override { return 24; }
  llvm::Error fill(int64_t index, void* image, int64_t* label) const override {
    if (index == bad) return llvm::createStringError(llvm::inconvertibleErrorCode(), "item 13 is broken");
    if (index == thrown) throw std::runtime_error("thrown at item");
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds((index * 7919) % 300));
    for (int i = 0; i < 3; ++i) std::memcpy(static_cast<char*>(image) + 8 * i, &index, 8);
    *label = index;
    ++filled;
    return llvm::Error::success();
  }
};

LoaderOptions inOrder(int64_t items, int64_t batch, unsigned workers) {
  LoaderOptions options;
  options.order = [items](int64_t epoch) {
    std::vector<int64_t> order(static_cast<size_t>(items));
    std::iota(order.begin(), order.end(), int64_t{0});
    if (epoch % 2 == 1) std::reverse(order.begin(), order.end());
    return order;
  };
  options.batch = batch;
  options.workers = workers;
  options.epochs = 1;
  return options;
}

std::unique_ptr<Loader> make(const Source& source, LoaderOptions options) {
  auto loader = Loader::create(source, std::move(options));
  REQUIRE(loader);
  return std::move(*loader);
}

std::string errorOf(Loader& loader) {
  auto batch = loader.next();
  REQUIRE_FALSE(batch);
  return llvm::toString(batch.takeError());
}

TEST_CASE("batches come in order whatever the number of threads") {
  Numbers source;
  source.slow = true;
  for (unsigned workers : {0u, 1u, 2u, 5u}) {
    for (bool drop_last : {false, true}) {
      auto options = inOrder(100, 8, workers);
      options.epochs = 2;
      options.drop_last = drop_last;
      auto loader = make(source, options);
      int64_t batches = 0;
      while (true) {
        auto next = loader->next();
        REQUIRE(next);
        if (!next->has_value()) break;
        const Batch& batch = **next;
        const int64_t per_epoch = drop_last ? 12 : 13;
        REQUIRE(batch.epoch == batches / per_epoch);
        REQUIRE(batch.number == batches % per_epoch);
        REQUIRE(batch.last == (batch.number == per_epoch - 1));
        REQUIRE(batch.count == (batch.number == 12 ? 4 : 8));
        REQUIRE(reinterpret_cast<uintptr_t>(batch.images) % 64 == 0);
        for (int64_t i = 0; i < batch.count; ++i) {
          const int64_t position = batch.number * 8 + i, wanted = batch.epoch == 1 ? 99 - position : position;
          REQUIRE(batch.labels[i] == wanted);
          REQUIRE(static_cast<int64_t*>(batch.images)[3 * i + 2] == wanted);
        }
        ++batches;
      }
      CHECK(batches == (drop_last ? 24 : 26));
      auto after = loader->next();
      REQUIRE(after);
      CHECK_FALSE(after->has_value());
      CHECK(loader->waitSeconds() > 0);
    }
  }
}

TEST_CASE("memory is used again, and no more of it than announced") {
  Numbers source;
  for (unsigned workers : {0u, 2u}) {
    auto options = inOrder(100, 4, workers);
    options.epochs = 0;
    auto loader = make(source, options);
    std::set<void*> places;
    for (int i = 0; i < 200; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
      places.insert((*batch)->images);
    }
    CHECK(places.size() <= workers * 2 + 1);
  }
}

TEST_CASE("an error in a thread arrives at its batch's turn and stays") {
  Numbers source;
  source.slow = true;
  for (unsigned workers : {0u, 1u, 3u}) {
    for (bool exception : {false, true}) {
      source.bad = exception ? -1 : 13;
      source.thrown = exception ? 13 : -1;
      auto loader = make(source, inOrder(100, 4, workers));
      for (int i = 0; i < 3; ++i) {
        auto batch = loader->next();
        REQUIRE((batch && *batch));
      }
      const std::string text = errorOf(*loader);
      CHECK(text.find(exception ? "thrown at item" : "item 13 is broken") != std::string::npos);
      CHECK(errorOf(*loader) == text);
    }
  }
}

TEST_CASE("an order that cannot be made is an error") {
  Numbers source;
  for (unsigned workers : {0u, 2u}) {
    auto options = inOrder(8, 4, workers);
    options.epochs = 3;
    options.order = [](int64_t epoch) -> std::vector<int64_t> {
      if (epoch == 1) throw std::bad_alloc();
      return {1, 2, 3, 4};
    };
    auto loader = make(source, options);
    {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
    CHECK(errorOf(*loader).find("order of the items") != std::string::npos);
  }
}

TEST_CASE("a loader stops in the middle without finishing its work") {
  Numbers source;
  source.slow = true;
  for (int round = 0; round < 50; ++round) {
    auto options = inOrder(100, 4, 3);
    options.epochs = 0;
    auto loader = make(source, options);
    for (int i = 0; i < round % 4; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
  }
  CHECK(source.filled < 50 * 100);
}

TEST_CASE("a batch outlives its loader") {
  Numbers source;
  Batch kept;
  {
    auto loader = make(source, inOrder(100, 4, 2));
    auto batch = loader->next();
    REQUIRE((batch && *batch));
    kept = std::move(**batch);
  }
  CHECK(kept.labels[3] == 3);
}

TEST_CASE("keeping more batches than announced is an error and not a hang") {
  Numbers source;
  auto options = inOrder(100, 4, 2);
  options.held = 2;
  auto loader = make(source, options);
  std::vector<Batch> kept;
  for (int i = 0; i < 2; ++i) {
    auto batch = loader->next();
    REQUIRE((batch && *batch));
    kept.push_back(std::move(**batch));
  }
  CHECK(errorOf(*loader).find("2 batches are still held") != std::string::npos);
  kept.erase(kept.begin());
  auto batch = loader->next();
  REQUIRE((batch && *batch));
  CHECK((*batch)->labels[0] == 8);
}

TEST_CASE("options without sense are refused") {
  Numbers source;
  const auto refused = [&](LoaderOptions options) {
    auto loader = Loader::create(source, std::move(options));
    if (loader) return std::string();
    return llvm::toString(loader.takeError());
  };
  auto endless = inOrder(3, 4, 1);
  endless.epochs = 0;
  endless.drop_last = true;
  CHECK(refused(endless).find("give no batch of 4") != std::string::npos);
  auto nothing = inOrder(3, 0, 1);
  CHECK_FALSE(refused(nothing).empty());
  auto huge = inOrder(3, int64_t{1} << 56, 1);
  CHECK(refused(huge).find("no memory") != std::string::npos);
  auto empty = make(source, inOrder(0, 4, 2));
  auto batch = empty->next();
  REQUIRE(batch);
  CHECK_FALSE(batch->has_value());
}

}  // namespace
}  // namespace expc::data
