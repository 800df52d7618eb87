#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cerrno>
#include <new>
#include <random>

#include "runtime/data/images/batches.h"
#include "runtime/data/images/sampler.h"
#include "tests/support/data/loader_fakes.h"

namespace expc::data {
namespace {

using namespace fakes;

std::unique_ptr<Batches> make(const Images& images, LoaderOptions options, Memory memory = {}) {
  options.memory = std::move(memory);
  auto loader = makeDataLoader(images, std::move(options));
  REQUIRE(loader);
  return std::move(*loader);
}

LoaderOptions optionsOf(int64_t items, int64_t batch, unsigned workers, bool processes) {
  LoaderOptions options = batchesOf(items, batch);
  options.workers = workers;
  options.processes = processes;
  return options;
}

/// Whether this process has a child, running or dead.
bool hasChild() {
  const pid_t found = waitpid(-1, nullptr, WNOHANG);
  return !(found < 0 && errno == ECHILD);
}

TEST_CASE("the data loader keeps the order whatever finishes first") {
  NumberImages images(50);
  images.slow = true;
  for (const bool processes : {false, true})
    for (unsigned workers : {0u, 1u, 3u})
      for (bool pinned : {false, true})
        for (bool drop_last : {false, true}) {
          auto options = optionsOf(50, 8, workers, processes);
          options.epochs = 2;
          options.drop_last = drop_last;
          std::atomic<int64_t> out{0};
          {
            auto loader = make(images, options, pinned ? counted(out) : Memory());
            std::string problem;
            CHECK(followed(*loader, options, problem) == (drop_last ? 12 : 14));
            CHECK(problem == "");
            CHECK(loader->waitSeconds() > 0);
            CHECK((out > 0) == pinned);
          }
          CHECK(out == 0);
        }
  CHECK_FALSE(hasChild());
}

TEST_CASE("batch k of an epoch is worker k mod workers' work") {
  NumberImages images(40);
  images.slow = true;
  for (const bool processes : {false, true}) {
    auto options = optionsOf(40, 4, 3, processes);
    options.epochs = 2;  // ten batches each: the count begins again
    auto loader = make(images, options);
    for (int epoch = 0; epoch < 2; ++epoch) {
      std::vector<pid_t> workers;
      for (size_t i = 0; i < 10; ++i) {
        auto batch = loader->next();
        REQUIRE((batch && *batch));
        workers.push_back(workerAt(**batch, 0));
        CHECK(workers[i] == workers[i % 3]);
      }
      CHECK(std::set(workers.begin(), workers.end()).size() == 3);
    }
  }
}

TEST_CASE("no more than workers x prefetch batches are prepared ahead, and none over the end of an epoch") {
  NumberImages images(40);
  auto options = optionsOf(40, 4, 2, /*processes=*/false);
  options.prefetch = 2;
  options.epochs = 2;
  auto loader = make(images, options);
  for (int i = 0; i < 10; ++i) {
    auto batch = loader->next();
    REQUIRE((batch && *batch));
    CHECK(images.reads <= std::min(40, 4 * (i + 1 + 4)));
  }
  CHECK(images.reads == 40);
}

TEST_CASE("an error in a worker arrives at its batch's turn and stays") {
  for (const bool processes : {false, true})
    for (unsigned workers : {0u, 1u, 3u})
      for (bool pinned : {false, true})
        for (bool exception : {false, true}) {
          NumberImages images(100);
          images.slow = true;
          if (exception)
            images.thrown = 13;
          else
            images.corrupt.insert(13);
          auto options = optionsOf(100, 4, workers, processes);
          std::atomic<int64_t> out{0};
          auto loader = make(images, options, pinned ? counted(out) : Memory());
          for (int i = 0; i < 3; ++i) {
            auto batch = loader->next();
            REQUIRE((batch && *batch));
          }
          const std::string text = errorOf(*loader);
          CHECK(text.find(exception ? "thrown at item" : "img/13.jpg") != std::string::npos);
          CHECK(errorOf(*loader) == text);
        }
}

TEST_CASE("a worker process that dies is an error with its reason, and leaves nothing behind") {
  for (bool pinned : {false, true})
    for (bool killed : {false, true}) {
      NumberImages images(100);
      (killed ? images.killed : images.left) = 30;
      auto options = optionsOf(100, 4, 2, /*processes=*/true);
      std::atomic<int64_t> out{0};
      {
        auto loader = make(images, options, pinned ? counted(out) : Memory());
        std::string text;
        for (int i = 0; i < 10 && text.empty(); ++i) text = errorOf(*loader);
        CHECK(text.find("worker process 2 of 2") != std::string::npos);
        CHECK(text.find(killed ? "was killed by signal 9 (Killed)" : "ended with exit code 7") != std::string::npos);
        CHECK(errorOf(*loader) == text);
        CHECK_FALSE(hasChild());
      }
      CHECK(out == 0);
    }
}

TEST_CASE("an image that cannot be decoded gives its place to the next one of the epoch") {
  for (const bool processes : {false, true})
    for (unsigned workers : {0u, 2u}) {
      NumberImages images(10);
      images.corrupt = {2, 3, 9};
      auto options = optionsOf(10, 4, workers, processes);
      options.on_corrupt = OnCorrupt::Replace;
      auto loader = make(images, options);
      std::vector<int64_t> got;
      for (int64_t skipped : {2, 2, 3}) {
        auto batch = loader->next();
        REQUIRE((batch && *batch));
        for (int64_t i = 0; i < (*batch)->count; ++i) {
          got.push_back(numberAt(**batch, i));
          CHECK((*batch)->labels[i] == got.back());
        }
        CHECK(loader->skipped() == skipped);
      }
      CHECK(got == std::vector<int64_t>{0, 1, 4, 4, 4, 5, 6, 7, 8, 0});

      // If no image of a rank's part can be decoded, the first of the whole set that can takes the place.
      auto part = options;
      part.order = [](int64_t) { return std::vector<int64_t>{9, 2, 3}; };
      auto elsewhere = make(images, part);
      auto batch = elsewhere->next();
      REQUIRE((batch && *batch));
      CHECK((*batch)->count == 3);
      for (int64_t i = 0; i < 3; ++i) CHECK((numberAt(**batch, i) == 0 && (*batch)->labels[i] == 0));
      CHECK(elsewhere->skipped() == 3);

      images.corrupt = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
      auto hopeless = make(images, options);
      const std::string text = errorOf(*hopeless);
      CHECK(text.find("none of the 10 images") != std::string::npos);
      CHECK(text.find("img/0.jpg") != std::string::npos);
    }
}

TEST_CASE(
    "an image that cannot be decoded can be left out: its place has no label, and all others are what they were") {
  for (const bool processes : {false, true})
    for (unsigned workers : {0u, 2u}) {
      NumberImages images(10);
      images.corrupt = {2, 3, 9};
      auto options = optionsOf(10, 4, workers, processes);
      options.on_corrupt = OnCorrupt::LeaveOut;
      auto loader = make(images, options);
      std::vector<int64_t> got;
      while (true) {
        auto batch = loader->next();
        REQUIRE(bool(batch));
        if (!*batch) break;
        got.insert(got.end(), (*batch)->labels, (*batch)->labels + (*batch)->count);
      }
      CHECK(got == std::vector<int64_t>{0, 1, kLeftOut, kLeftOut, 4, 5, 6, 7, 8, kLeftOut});
      CHECK(loader->skipped() == 3);
    }
}

TEST_CASE("the data loader stops in the middle without finishing its work") {
  NumberImages images(100);
  images.slow = true;
  for (const bool processes : {false, true})
    for (int round = 0; round < 12; ++round) {
      auto options = optionsOf(100, 4, 3, processes);
      options.epochs = 0;
      const bool pinned = round % 2 == 1;
      std::atomic<int64_t> out{0};
      {
        auto loader = make(images, options, pinned ? counted(out) : Memory());
        for (int i = 0; i < round % 4; ++i) {
          auto batch = loader->next();
          REQUIRE((batch && *batch));
        }
      }
      CHECK(out == 0);
    }
  CHECK(images.reads < 12 * 100);
  CHECK_FALSE(hasChild());
}

TEST_CASE("a batch outlives its data loader") {
  NumberImages images(100);
  for (const bool processes : {false, true}) {
    HostBatch kept;
    {
      auto loader = make(images, optionsOf(100, 4, 2, processes));
      auto batch = loader->next();
      REQUIRE((batch && *batch));
      kept = std::move(**batch);
    }
    CHECK(kept.labels[3] == 3);
    CHECK(numberAt(kept, 2) == 2);
  }
}

TEST_CASE("keeping more batches than announced is an error of the data loader and not a hang") {
  NumberImages images(100);
  for (unsigned workers : {0u, 2u}) {
    auto options = optionsOf(100, 4, workers, /*processes=*/false);
    options.held = 2;
    auto loader = make(images, options);
    std::vector<HostBatch> kept;
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
}

TEST_CASE("options without sense are refused by the data loader") {
  NumberImages images(3);
  const auto refused = [&](LoaderOptions options) {
    auto loader = makeDataLoader(images, std::move(options));
    return loader ? std::string() : toString(loader.takeError());
  };
  for (unsigned workers : {0u, 1u}) {
    const auto some = [&] { return optionsOf(3, 4, workers, /*processes=*/false); };
    CHECK(refused(some()) == "");
    auto endless = some();
    endless.epochs = 0;
    endless.drop_last = true;
    CHECK(refused(endless).find("3 items for this rank give no batch of 4") != std::string::npos);
    auto nothing = some();
    nothing.batch = 0;
    CHECK(refused(nothing).find("batch of at least 1") != std::string::npos);
    auto huge = some();
    huge.batch = int64_t{1} << 56;
    CHECK(refused(huge).find("no memory") != std::string::npos);
    auto shapeless = some();
    shapeless.preparation.rows = 0;
    CHECK(refused(shapeless).find("cannot be prepared") != std::string::npos);
    auto pinned = some();
    pinned.memory = [](size_t) { return nullptr; };
    CHECK(refused(pinned).find("no memory for") != std::string::npos);
    auto failing = some();
    failing.order = [](int64_t) -> std::vector<int64_t> { throw std::bad_alloc(); };
    CHECK(refused(failing).find("order the items of epoch 0") != std::string::npos);
    auto outside = some();
    outside.order = [](int64_t) { return std::vector<int64_t>{2, 3}; };
    auto loader = make(images, outside);
    CHECK(errorOf(*loader).find("image 3 asked for, expected 0 to 2") != std::string::npos);
    auto empty = some();
    empty.order = [](int64_t) { return std::vector<int64_t>(); };
    auto none = make(images, empty);
    auto batch = none->next();
    REQUIRE(batch);
    CHECK_FALSE(batch->has_value());
  }
}

TEST_CASE("random options deliver what the sampler gives") {
  std::mt19937 random(11);
  const auto upTo = [&](int64_t most) { return int64_t(random() % uint32_t(most + 1)); };
  for (int round = 0; round < 60; ++round) {
    DistributedSampler sampler;
    sampler.count = 1 + upTo(70);
    sampler.world = 1 + upTo(3);
    sampler.rank = upTo(sampler.world - 1);
    sampler.seed = uint64_t(upTo(1000));
    sampler.drop_last = upTo(1) == 1;
    sampler.shuffle = upTo(3) > 0;
    auto options = optionsOf(sampler.count, 1 + upTo(9), unsigned(upTo(4)), upTo(1) == 1);
    options.prefetch = unsigned(1 + upTo(3));
    options.held = unsigned(1 + upTo(2));
    options.order = [&](int64_t epoch) { return sampler.indices(epoch); };
    options.drop_last = upTo(1) == 1;
    const bool pinned = upTo(1) == 1;
    options.first_epoch = upTo(5);
    options.epochs = 1 + upTo(2);
    CAPTURE(round);
    NumberImages images(sampler.count);
    images.slow = upTo(1) == 1;
    std::atomic<int64_t> out{0};
    auto loader = make(images, options, pinned ? counted(out) : Memory());
    std::string problem;
    CHECK(followed(*loader, options, problem) >= 0);
    CHECK(problem == "");
  }
  CHECK_FALSE(hasChild());
}

}  // namespace
}  // namespace expc::data
