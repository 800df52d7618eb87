// Runs one of our loaders over a data set and prints its rates as a JSON line: loaders.py's own side.
//
// usage: expc-loader-bench native|threads|processes mnist|folder|packed PATH [--name value ...]
//   --workers 2 --batch 32 --size 300 --epochs 4 --prefetch 2 --images 0 (of an epoch; 0: all)
//   --element fp32|bf16|fp16|uint8|fp64 --layout nhwc|nchw

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "runtime/base/format.h"
#include "runtime/data/images/batches.h"
#include "runtime/data/images/open.h"
#include "runtime/data/images/sampler.h"
#include "tests/bench/program.h"

namespace {

using namespace expc::data;

/// User and system time of this process and of children that ended.
double cpuSeconds() {
  double sum = 0;
  for (int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage{};
    getrusage(who, &usage);
    for (const timeval& time : {usage.ru_utime, usage.ru_stime})
      sum += double(time.tv_sec) + double(time.tv_usec) * 1e-6;
  }
  return sum;
}

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

struct Wanted {
  std::string loader, kind, path;
  expc::bench::Options settings{{{"workers", "2"},
                                 {"batch", "32"},
                                 {"size", "300"},
                                 {"epochs", "4"},
                                 {"prefetch", "2"},
                                 {"images", "0"},
                                 {"element", "fp32"},
                                 {"layout", "nhwc"}}};
};

Preparation preparationOf(const Wanted& wanted) {
  static const std::map<std::string, Element> kElements{{"fp32", Element::Float32},
                                                        {"bf16", Element::BFloat16},
                                                        {"fp16", Element::Float16},
                                                        {"uint8", Element::UInt8},
                                                        {"fp64", Element::Float64}};
  Preparation preparation;
  preparation.rows = preparation.cols = wanted.settings.number("size");
  preparation.layout = wanted.settings["layout"] == "nchw" ? Layout::Nchw : Layout::Nhwc;
  preparation.element = kElements.at(wanted.settings["element"]);
  preparation.normalise = preparation.element != Element::UInt8;
  return preparation;
}

llvm::Expected<std::unique_ptr<Batches>> open(const Wanted& wanted, const Images& images, int64_t count) {
  LoaderOptions batches;
  batches.order = [count, shuffled = DistributedSampler{.count = images.count()}](int64_t epoch) {
    auto order = shuffled.indices(epoch);
    order.resize(size_t(count));
    return order;
  };
  batches.batch = wanted.settings.number("batch");
  batches.epochs = wanted.settings.number("epochs");
  batches.preparation = preparationOf(wanted);
  batches.workers = unsigned(wanted.settings.number("workers"));
  batches.prefetch = unsigned(wanted.settings.number("prefetch"));
  batches.processes = wanted.loader == "processes";
  if (wanted.loader == "native") return makeNativeLoader(images, std::move(batches));
  return makeDataLoader(images, std::move(batches));
}

llvm::Error measure(const Wanted& wanted) {
  static const std::map<std::string, Source::Kind> kKinds{
      {"mnist", Source::Kind::Mnist}, {"folder", Source::Kind::Folder}, {"packed", Source::Kind::Packed}};
  auto sets = expc::data::open({kKinds.at(wanted.kind), wanted.path, 0});
  if (!sets) return sets.takeError();
  const Images& images = *sets->train;
  const int64_t asked = wanted.settings.number("images"),
                count = asked > 0 ? std::min(asked, images.count()) : images.count();
  const double opened = seconds(), cpu = cpuSeconds();
  auto loader = open(wanted, images, count);
  if (!loader) return loader.takeError();
  std::vector<double> epochs;
  double began = opened;
  while (true) {
    auto batch = (*loader)->next();
    if (!batch) return batch.takeError();
    if (!*batch) break;
    if (!(*batch)->last) continue;
    const double now = seconds();
    epochs.push_back(now - began);
    began = now;
  }
  loader->reset();
  const double cpu_used = cpuSeconds() - cpu;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double first = epochs.front(), per = double(count);
  std::sort(epochs.begin(), epochs.end());
  fmt::print(
      R"({{"loader":"{}","data":"{}","element":"{}","layout":"{}","threads":{},"images":{},"first_img_s":{:.0f},)"
      R"("best_img_s":{:.0f},"median_img_s":{:.0f},"cpu_us_per_image":{:.2f},"rss_mib":{}}})"
      "\n",
      wanted.loader, wanted.kind, wanted.settings["element"], wanted.settings["layout"],
      wanted.settings.number("workers"), count, per / first, per / epochs.front(), per / epochs[epochs.size() / 2],
      cpu_used * 1e6 / (per * double(epochs.size())), usage.ru_maxrss / 1024);
  return llvm::Error::success();
}

}  // namespace

int main(int argc, char** argv) {
  Wanted wanted;
  try {
    if (argc < 4) throw std::invalid_argument("usage");
    wanted.loader = argv[1], wanted.kind = argv[2], wanted.path = argv[3];
    if (!wanted.settings.read(argc, argv, 4)) return 2;
    if (auto error = measure(wanted)) {
      fmt::print(stderr, "expc-loader-bench: {}\n", llvm::toString(std::move(error)));
      return 1;
    }
  } catch (const std::logic_error&) {  // a name or number that is none
    fmt::print(stderr,
               "usage: expc-loader-bench native|threads|processes mnist|folder|packed PATH [--name value ...]\n");
    return 2;
  }
  return 0;
}
