#include <doctest/doctest.h>

#include "runtime/data/images/batches.h"
#include "runtime/data/images/sampler.h"
#include "tests/parity/fixtures.h"

namespace expc::parity {
namespace {

TEST_CASE("DistributedSampler gives torch's indices") {
  const auto json = readJson("sampler.json");
  int compared = 0;
  for (const auto& value : *json.getAsObject()->getArray("distributed_sampler")) {
    const auto& wanted = *value.getAsObject();
    const auto* ranks = wanted.getArray("ranks");
    if (ranks == nullptr) continue;  // a case that torch refuses
    data::DistributedSampler sampler;
    sampler.count = *wanted.getInteger("n");
    sampler.world = *wanted.getInteger("world");
    sampler.shuffle = *wanted.getBoolean("shuffle");
    sampler.seed = uint64_t(*wanted.getInteger("seed"));
    sampler.drop_last = *wanted.getBoolean("drop_last");
    for (sampler.rank = 0; sampler.rank < sampler.world; ++sampler.rank) {
      CHECK(sampler.indices(*wanted.getInteger("epoch")) == integers(*(*ranks)[sampler.rank].getAsArray()));
      ++compared;
    }
  }
  CHECK(compared > 56);
}

TEST_CASE("randomPermutation is torch.randperm") {
  const auto json = readJson("sampler.json");
  for (const auto& value : *json.getAsObject()->getArray("randperm")) {
    const auto& wanted = *value.getAsObject();
    const auto order = data::randomPermutation(*wanted.getInteger("n"), uint64_t(*wanted.getInteger("seed")));
    if (const auto* all = wanted.getArray("perm")) {
      CHECK(order == integers(*all));
    } else {
      CHECK(std::vector<int64_t>(order.begin(), order.begin() + 16) == integers(*wanted.getArray("first16")));
      int64_t sum = 0;
      for (size_t i = 0; i < order.size(); ++i) sum += int64_t(i + 1) * order[i];
      CHECK(sum == *wanted.getInteger("weighted_sum_sum_i_(i+1)*p_i"));
    }
  }
}

/// A set whose images are their own index.
class Indices : public data::Images {
 public:
  explicit Indices(int64_t count) : count_(count) {}
  int64_t count() const override { return count_; }
  int64_t classes() const override { return count_; }
  const std::string& origin() const override { return origin_; }
  std::optional<data::Shape> shape() const override { return data::Shape{1, 1, 1}; }
  int64_t label(int64_t index) const override { return index; }
  Expected<data::Pixels> read(int64_t, std::vector<uint8_t>& scratch) const override {
    scratch.assign(1, 0);
    return data::Pixels{scratch.data(), 1, 1, 1};
  }

 private:
  int64_t count_;
  std::string origin_ = "indices";
};

std::vector<std::vector<int64_t>> labelsOf(data::Batches& batches) {
  std::vector<std::vector<int64_t>> result;
  while (true) {
    auto batch = batches.next();
    REQUIRE(batch);
    if (!*batch) return result;
    result.emplace_back((*batch)->labels, (*batch)->labels + (*batch)->count);
  }
}

TEST_CASE("every loader delivers the batches of torch's DataLoader") {
  const auto json = readJson("sampler.json");
  int compared = 0;
  for (const auto& value : *json.getAsObject()->getArray("dataloader_shuffle")) {
    const auto& wanted = *value.getAsObject();
    const int64_t count = *wanted.getInteger("n");
    const auto seed = uint64_t(*wanted.getInteger("sampler_seed"));
    std::vector<std::vector<int64_t>> batches;
    for (const auto& batch : *wanted.getArray("batches")) batches.push_back(integers(*batch.getAsArray()));

    data::LoaderOptions options;
    options.order = [&](int64_t) { return data::randomPermutation(count, seed); };
    options.batch = *wanted.getInteger("batch_size");
    options.drop_last = *wanted.getBoolean("drop_last");
    options.epochs = 1;
    options.preparation.rows = options.preparation.cols = 1;
    const Indices images(count);
    for (unsigned workers : {0u, 1u, 3u}) {
      options.workers = workers;
      for (const bool processes : {false, true}) {
        options.processes = processes;
        auto loader = data::makeDataLoader(images, options);
        REQUIRE(loader);
        CHECK(labelsOf(**loader) == batches);
      }
      auto loader = data::makeNativeLoader(images, options);
      REQUIRE(loader);
      CHECK(labelsOf(**loader) == batches);
      ++compared;
    }
  }
  CHECK(compared >= 9);
}

}  // namespace
}  // namespace expc::parity
