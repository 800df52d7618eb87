#include "runtime/worker/feed/device_feed.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "runtime/worker/profile/range.h"

namespace expc::feed {
namespace {

using profile::Phase, profile::Range;

c10::ScalarType typeOf(data::Element element) {
  switch (element) {
    case data::Element::UInt8:
      return at::kByte;
    case data::Element::Float16:
      return at::kHalf;
    case data::Element::BFloat16:
      return at::kBFloat16;
    case data::Element::Float64:
      return at::kDouble;
    case data::Element::Float32:
      break;
  }
  return at::kFloat;
}

/// The loader's memory as a tensor of count x channels x rows x cols.
at::Tensor wrapImages(const data::HostBatch& batch, const data::Preparation& p, c10::Device device) {
  const int64_t image = p.channels * p.rows * p.cols;
  const std::vector<int64_t> strides = p.layout == data::Layout::Nhwc
                                           ? std::vector<int64_t>{image, 1, p.cols * p.channels, p.channels}
                                           : std::vector<int64_t>{image, p.rows * p.cols, p.cols, 1};
  return at::from_blob(const_cast<void*>(batch.images), {batch.count, p.channels, p.rows, p.cols}, strides,
                       at::TensorOptions(typeOf(p.element)).device(batch.on_device ? device : c10::Device(c10::kCPU)));
}

at::Tensor wrapLabels(const data::HostBatch& batch) {
  return at::from_blob(const_cast<int64_t*>(batch.labels), {batch.count}, at::TensorOptions(at::kLong));
}

c10::ScalarType resultType(const FeedOptions& options) {
  return options.transfer == Transfer::Compute ? options.compute : options.input;
}

}  // namespace

DeviceFeed::DeviceFeed(std::unique_ptr<data::Batches> batches, FeedOptions options, data::Preparation preparation,
                       c10::Device device, std::unique_ptr<device::CopyQueue> queue, bool ahead)
    : batches_(std::move(batches)),
      options_(std::move(options)),
      preparation_(preparation),
      device_(device),
      queue_(std::move(queue)),
      stages_ahead_(ahead && queue_),
      on_device_({options_.size, options_.channels_last, resultType(options_), device}) {
  if (queue_) in_flight_.emplace(*queue_);
}

DeviceFeed::~DeviceFeed() {
  if (next_ && !*next_) llvm::consumeError(next_->takeError());
}

DeviceFeed::Staging DeviceFeed::stage() {
  // What the loader may keep for us is known; it must be able to hand out another batch.
  if (in_flight_) in_flight_->reclaim(kHeldWithQueue - 1);
  auto host = [&] {
    const Range load(Phase::Load);
    return batches_->next();
  }();
  if (!host) return host.takeError();
  if (!*host) return std::nullopt;
  Staged staged;
  DeviceBatch& batch = staged.batch;
  batch.images = wrapImages(**host, preparation_, device_);
  batch.labels = wrapLabels(**host);
  batch.epoch = (*host)->epoch;
  batch.number = (*host)->number;
  batch.last = (*host)->last;
  if (!queue_) {
    batch.holder = std::move((*host)->holder);
    return staged;
  }
  queue_->within([&] {
    const Range copy(Phase::Copy);
    if (!(*host)->on_device) batch.images = queue_->copy(batch.images);
    batch.labels = queue_->copy(batch.labels);
  });
  staged.mark = queue_->mark();
  // What the loader left on the device is read by the step itself.
  if ((*host)->on_device) batch.holder = (*host)->holder;
  in_flight_->add(staged.mark, std::move((*host)->holder));
  return staged;
}

llvm::Expected<std::optional<DeviceBatch>> DeviceFeed::next() {
  Staging staged = next_ ? std::move(*next_) : stage();
  next_.reset();
  if (!staged) return staged.takeError();
  if (!*staged) return std::nullopt;
  DeviceBatch batch = std::move((*staged)->batch);
  if (queue_) queue_->handOver((*staged)->mark, {batch.images, batch.labels});
  if (options_.slices > 1) cut(batch);
  if (options_.on_device) {
    const Range copy(Phase::Copy);
    batch.images = on_device_(batch.images);
  }
  batch.count = batch.images.size(0);
  return batch;
}

void DeviceFeed::ahead() {
  if (stages_ahead_ && !next_) next_.emplace(stage());
}

void DeviceFeed::cut(DeviceBatch& batch) const {
  const int64_t count = batch.images.size(0), share = (count + options_.slices - 1) / options_.slices;
  const int64_t from = std::min(count, options_.slice * share), length = std::min(share, count - from);
  batch.images = batch.images.narrow(0, from, length);
  batch.labels = batch.labels.narrow(0, from, length);
}

}  // namespace expc::feed
