// Times loading, training and both together over the same batches, one after the other in every round. Prints one JSON
// line: of each part the seconds of a step, round by round; epoch.py's own side.
//
// usage: expc-epoch-bench native|threads|processes mnist|folder|packed PATH [--name value ...]
//   --size 300 --batch 32 --steps 8 --rounds 3 --threads 2 --workers 2 --width 1 --precision fp32

#include <ATen/Parallel.h>
#include <fmt/ranges.h>

#include <chrono>
#include <map>
#include <stdexcept>
#include <string>

#include "runtime/base/format.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/sampler.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/workload/image/feed.h"
#include "tests/bench/program.h"
#include "tests/bench/training/network.h"

using namespace expc;

namespace {

struct Wanted {
  std::string loader, kind, path;
  expc::bench::Options settings{{{"size", "300"},
                                 {"batch", "32"},
                                 {"steps", "8"},
                                 {"rounds", "3"},
                                 {"threads", "2"},
                                 {"workers", "2"},
                                 {"width", "1"},
                                 {"precision", "fp32"}}};
};

feed::FeedOptions feedOptions(const Wanted& wanted, int64_t count) {
  feed::FeedOptions options;
  options.loader = wanted.loader == "native" ? feed::LoaderKind::Native : feed::LoaderKind::DataLoader;
  options.batches.processes = wanted.loader == "processes";
  options.batches.workers = unsigned(wanted.settings.number("workers"));
  options.batches.order = [sampler = data::DistributedSampler{.count = count}](int64_t epoch) {
    return sampler.indices(epoch);
  };
  options.batches.batch = wanted.settings.number("batch");
  options.batches.drop_last = true;
  options.size = wanted.settings.number("size");
  options.channels_last = true;
  return options;
}

/// Seconds of a step: it takes a batch if there is a feed, and trains on it, or on `kept` without one.
template <typename Train>
llvm::Expected<double> timed(int64_t steps, feed::Feed* feed, const feed::DeviceBatch& kept, const Train& train) {
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < steps; ++i) {
    if (feed == nullptr) {
      train(kept);
      continue;
    }
    auto batch = feed->next();
    if (!batch) return batch.takeError();
    train(**batch);
    feed->ahead();
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / double(steps);
}

/// A feed that has delivered its first batch.
llvm::Expected<std::unique_ptr<feed::Feed>> warmFeed(const Wanted& wanted, const data::Images& images,
                                                     device::Device& device) {
  auto feed = feed::makeFeed(images, feedOptions(wanted, images.count()), device);
  if (!feed) return feed.takeError();
  if (auto first = (*feed)->next(); !first) return first.takeError();
  return feed;
}

llvm::Error measure(const Wanted& wanted) {
  static const std::map<std::string, data::Source::Kind> kKinds{{"mnist", data::Source::Kind::Mnist},
                                                                {"folder", data::Source::Kind::Folder},
                                                                {"packed", data::Source::Kind::Packed}};
  auto sets = data::open({kKinds.at(wanted.kind), wanted.path, 0});
  if (!sets) return sets.takeError();
  const llvm::json::Value slot = llvm::json::Object{{"device", "cpu"}, {"threads", wanted.settings.number("threads")}};
  auto device = device::cpuBackend().open(slot);
  if (!device) return device.takeError();
  const auto precision = bench::precisionOf(wanted.settings["precision"]);
  if (!precision) return llvm::createStringError("no such precision");
  model::MobileNetV2Options options;
  options.width = std::stod(wanted.settings["width"]);
  options.classes = sets->train->classes();
  options.dtype = precision::weightType(*precision);
  options.channels_last = true;
  bench::Network network(options, *precision);

  feed::DeviceBatch kept;
  {
    auto feed = warmFeed(wanted, *sets->train, **device);
    if (!feed) return feed.takeError();
    auto batch = (*feed)->next();
    if (!batch) return batch.takeError();
    kept.images = (*batch)->images.clone();
    kept.labels = (*batch)->labels.clone();
  }
  const int64_t steps = wanted.settings.number("steps");
  std::map<std::string, std::vector<double>> seconds;
  for (int64_t round = 0; round <= wanted.settings.number("rounds"); ++round) {
    for (const std::string part : {"load", "train", "both"}) {
      std::unique_ptr<feed::Feed> feed;
      if (part != "train") {
        auto made = warmFeed(wanted, *sets->train, **device);
        if (!made) return made.takeError();
        feed = std::move(*made);
      }
      const bool only_load = part == "load";  // quick, and the first batches were loaded before the clock began
      auto took = timed(only_load ? 16 * steps : steps, feed.get(), kept, [&](const feed::DeviceBatch& batch) {
        if (!only_load) network.step(batch.images, batch.labels);
      });
      if (!took) return took.takeError();
      if (round > 0) seconds[part].push_back(*took);  // the first round warms up
    }
  }
  fmt::print(R"({{"load":[{}],"train":[{}],"both":[{}]}})"
             "\n",
             fmt::join(seconds["load"], ","), fmt::join(seconds["train"], ","), fmt::join(seconds["both"], ","));
  return llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  device::keepFreedMemory();  // as the worker does
  Wanted wanted;
  try {
    if (argc < 4) throw std::invalid_argument("usage");
    wanted.loader = argv[1], wanted.kind = argv[2], wanted.path = argv[3];
    if (!wanted.settings.read(argc, argv, 4)) return 2;
    at::set_num_threads(int(wanted.settings.number("threads")));
    at::manual_seed(0);
    if (auto error = measure(wanted)) {
      fmt::print(stderr, "expc-epoch-bench: {}\n", llvm::toString(std::move(error)));
      return 1;
    }
  } catch (const std::logic_error&) {  // a name or number that is none
    fmt::print(stderr,
               "usage: expc-epoch-bench native|threads|processes mnist|folder|packed PATH [--name value ...]\n");
    return 2;
  }
  return 0;
}
