#include <doctest/doctest.h>

#include <new>
#include <random>

#include "runtime/data/images/batches.h"
#include "runtime/data/images/sampler.h"
#include "tests/support/data/loader_fakes.h"

namespace expc::data {
namespace {

using namespace fakes;

std::unique_ptr<Batches> makeNative(const Images& images, LoaderOptions options, Memory memory = {}) {
  options.memory = std::move(memory);
  auto loader = makeNativeLoader(images, std::move(options));
  REQUIRE(loader);
  return std::move(*loader);
}

LoaderOptions optionsOf(int64_t items, int64_t batch, unsigned threads) {
  LoaderOptions options = batchesOf(items, batch);
  options.workers = threads;
  return options;
}

TEST_CASE("the native loader keeps the order whatever finishes first") {
  NumberImages images(50);
  images.slow = true;
  for (unsigned threads : {0u, 1u, 2u, 5u})
    for (bool pinned : {false, true})
      for (bool drop_last : {false, true}) {
        auto options = optionsOf(50, 8, threads);
        options.epochs = 3;
        options.drop_last = drop_last;
        std::atomic<int64_t> out{0};
        {
          auto loader = makeNative(images, options, pinned ? counted(out) : Memory());
          CHECK(out == (pinned ? (threads == 0 ? 1 : 3) : 0));
          std::string problem;
          CHECK(followed(*loader, options, problem) == (drop_last ? 18 : 21));
          CHECK(problem == "");
          CHECK(loader->waitSeconds() > 0);
        }
        CHECK(out == 0);
      }
}

TEST_CASE("the native loader is ahead by as many batches as asked for, over the end of an epoch too") {
  NumberImages images(12);
  auto options = optionsOf(12, 4, 2);
  options.epochs = 0;
  options.prefetch = 3;
  auto loader = makeNative(images, options);
  const auto waitFor = [&](int64_t reads) {
    for (int i = 0; i < 20000 && images.reads < reads; ++i) std::this_thread::sleep_for(std::chrono::microseconds(500));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return images.reads.load();
  };
  CHECK(waitFor(4 * 4) == 4 * 4);  // one to be held, three ahead
  for (int64_t i = 1; i < 20; ++i) {
    {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
    CHECK(waitFor(4 * (4 + i)) == 4 * (4 + i));
  }
}

TEST_CASE("threads of the native loader share a batch") {
  // Each of a batch's two items waits until the other one is being read.
  class Meeting : public NumberImages {
   public:
    Meeting() : NumberImages(2) {}
    mutable std::atomic<int> here{0};
    Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const override {
      ++here;
      for (int i = 0; i < 20000 && here < 2; ++i) std::this_thread::sleep_for(std::chrono::microseconds(500));
      if (here < 2) return llvm::createStringError("alone");
      return NumberImages::read(index, scratch);
    }
  };
  const Meeting images;
  auto loader = makeNative(images, optionsOf(2, 2, 2));
  auto batch = loader->next();
  REQUIRE((batch && *batch));
  CHECK(numberAt(**batch, 1) == 1);
}

TEST_CASE("the first broken item of a batch is the native loader's error, at the batch's turn") {
  for (unsigned threads : {0u, 1u, 3u}) {
    NumberImages images(100);
    images.slow = true;
    images.corrupt = {15, 14, 40};
    auto loader = makeNative(images, optionsOf(100, 4, threads));
    for (int i = 0; i < 3; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
    const std::string text = errorOf(*loader);
    CHECK(text.find("img/14.jpg") != std::string::npos);
    CHECK(errorOf(*loader) == text);
    loader.reset();  // its threads may still read
    images.corrupt.clear();
    images.thrown = 1;
    auto throwing = makeNative(images, optionsOf(100, 4, threads));
    CHECK(errorOf(*throwing).find("thrown at item") != std::string::npos);
  }
}

TEST_CASE("an order of a later epoch that cannot be made is met after the batches before it") {
  NumberImages images(8);
  for (unsigned threads : {0u, 2u}) {
    auto options = optionsOf(8, 4, threads);
    options.epochs = 3;
    options.order = [](int64_t epoch) -> std::vector<int64_t> {
      if (epoch == 1) throw std::bad_alloc();
      return {1, 2, 3, 4, 5};
    };
    auto loader = makeNative(images, options);
    for (int i = 0; i < 2; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
    CHECK(errorOf(*loader).find("order the items of epoch 1") != std::string::npos);
  }
}

TEST_CASE("the native loader replaces what cannot be decoded by the next image of the epoch") {
  NumberImages images(10);
  images.corrupt = {2, 3, 9};
  for (unsigned threads : {0u, 2u}) {
    auto options = optionsOf(10, 4, threads);
    options.on_corrupt = OnCorrupt::Replace;
    auto loader = makeNative(images, options);
    std::vector<int64_t> got;
    for (int64_t skipped : {2, 2, 3}) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
      got.insert(got.end(), (*batch)->labels, (*batch)->labels + (*batch)->count);
      CHECK(loader->skipped() == skipped);
    }
    CHECK(got == std::vector<int64_t>{0, 1, 4, 4, 4, 5, 6, 7, 8, 0});
  }
}

TEST_CASE("the native loader stops in the middle without finishing its work") {
  NumberImages images(100);
  images.slow = true;
  for (int round = 0; round < 30; ++round) {
    auto options = optionsOf(100, 16, 3);
    options.epochs = 0;
    auto loader = makeNative(images, options);
    for (int i = 0; i < round % 3; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
    }
  }
  CHECK(images.reads < 30 * 100);
}

TEST_CASE("a batch outlives its native loader, and one too many is an error") {
  NumberImages images(100);
  std::vector<HostBatch> kept;
  {
    auto options = optionsOf(100, 4, 2);
    options.held = 2;
    auto loader = makeNative(images, options);
    for (int i = 0; i < 2; ++i) {
      auto batch = loader->next();
      REQUIRE((batch && *batch));
      kept.push_back(std::move(**batch));
    }
    CHECK(errorOf(*loader).find("2 batches are still in use") != std::string::npos);
    kept.erase(kept.begin());
    auto batch = loader->next();
    REQUIRE((batch && *batch));
    CHECK((*batch)->labels[0] == 8);
  }
  CHECK(kept[0].labels[3] == 7);
}

TEST_CASE("options without sense are refused by the native loader") {
  NumberImages images(3);
  const auto refused = [&](LoaderOptions options) {
    auto loader = makeNativeLoader(images, std::move(options));
    return loader ? std::string() : toString(loader.takeError());
  };
  auto endless = optionsOf(3, 4, 1);
  endless.epochs = 0;
  endless.drop_last = true;
  CHECK(refused(endless).find("3 items for this rank give no batch of 4") != std::string::npos);
  auto lazy = optionsOf(3, 4, 1);
  lazy.prefetch = 0;
  CHECK(refused(lazy).find("prefetch and held of at least 1") != std::string::npos);
  auto empty = optionsOf(0, 4, 2);
  auto none = makeNative(images, empty);
  auto batch = none->next();
  REQUIRE(batch);
  CHECK_FALSE(batch->has_value());
}

TEST_CASE("the native loader delivers what the sampler gives, for random options") {
  std::mt19937 random(12);
  const auto upTo = [&](int64_t most) { return int64_t(random() % uint32_t(most + 1)); };
  for (int round = 0; round < 150; ++round) {
    DistributedSampler sampler;
    sampler.count = 1 + upTo(70);
    sampler.world = 1 + upTo(3);
    sampler.rank = upTo(sampler.world - 1);
    sampler.seed = uint64_t(upTo(1000));
    sampler.drop_last = upTo(1) == 1;
    sampler.shuffle = upTo(3) > 0;
    auto options = optionsOf(sampler.count, 1 + upTo(9), unsigned(upTo(4)));
    options.prefetch = unsigned(1 + upTo(3));
    options.held = unsigned(1 + upTo(2));
    options.order = [&](int64_t epoch) { return sampler.indices(epoch); };
    options.drop_last = upTo(1) == 1;
    options.first_epoch = upTo(5);
    options.epochs = 1 + upTo(2);
    CAPTURE(round);
    NumberImages images(sampler.count);
    images.slow = upTo(3) == 0;
    auto loader = makeNative(images, options);
    std::string problem;
    CHECK(followed(*loader, options, problem) >= 0);
    CHECK(problem == "");
  }
}

}  // namespace
}  // namespace expc::data
