#include "runtime/worker/workload/image/portion.h"

#include <algorithm>

#include "runtime/worker/data/sampler.h"

namespace expc::workload::image {
namespace {

/// The global batches one after the other, each with the images of device 0, then of device 1, …; a tail that is no
/// whole batch is divided the same way if all devices get as much of it.
std::vector<int64_t> byDevice(const std::vector<int64_t>& drawn, int64_t devices, int64_t batch) {
  std::vector<int64_t> result;
  result.reserve(drawn.size());
  const auto count = static_cast<int64_t>(drawn.size());
  for (int64_t begin = 0; begin < count; begin += batch * devices) {
    const int64_t end = std::min(count, begin + batch * devices);
    if ((end - begin) % devices != 0) {
      result.insert(result.end(), drawn.begin() + begin, drawn.begin() + end);
      continue;
    }
    for (int64_t device = 0; device < devices; ++device) {
      for (int64_t i = begin + device; i < end; i += devices) result.push_back(drawn[static_cast<size_t>(i)]);
    }
  }
  return result;
}

/// Whether torch.chunk leaves some device exactly one of `tail` images.
bool leavesSingle(int64_t tail, int64_t devices) {
  if (tail == 0) return false;
  const int64_t each = (tail + devices - 1) / devices;
  return each == 1 || tail % each == 1;
}

}  // namespace

Portion Portion::of(Strategy strategy, int64_t gpus, int64_t batch, int64_t process, int64_t count, uint64_t seed) {
  data::DistributedSampler sampler;
  sampler.count = count;
  sampler.seed = seed;
  Portion result;
  if (strategy == Strategy::DdpDs) {
    sampler.world = gpus;
    sampler.rank = process;
    result.order = [sampler](int64_t epoch) { return sampler.indices(epoch); };
    result.images = sampler.perRank();
    result.batch = batch;
    result.tail_is_single = batch > 1 && result.images % batch == 1;
    return result;
  }
  // One process loads everything; ddp's ranks must have equally much of a last batch, so its draw is filled up as
  // DistributedSampler does it.
  result.images = strategy == Strategy::Ddp ? (count + gpus - 1) / gpus * gpus : count;
  result.order = [sampler, gpus, batch, images = result.images](int64_t epoch) {
    std::vector<int64_t> drawn = sampler.indices(epoch);
    const size_t all = drawn.size();
    for (size_t i = 0; drawn.size() < static_cast<size_t>(images); ++i) drawn.push_back(drawn[i % all]);
    return byDevice(drawn, gpus, batch);
  };
  result.batch = batch * gpus;
  if (strategy == Strategy::Ddp) {
    result.slice = process;
    result.slices = gpus;
  }
  result.tail_is_single = batch > 1 && leavesSingle(result.images % result.batch, gpus);
  return result;
}

}  // namespace expc::workload::image
