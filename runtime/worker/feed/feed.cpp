#include "runtime/worker/feed/feed.h"

#include <ATen/ATen.h>

#include "runtime/worker/feed/on_device.h"
#include "runtime/worker/profile/range.h"

namespace expc::feed {
namespace {

data::Element elementOf(c10::ScalarType type) {
  switch (type) {
    case at::kByte:
      return data::Element::UInt8;
    case at::kHalf:
      return data::Element::Float16;
    case at::kBFloat16:
      return data::Element::BFloat16;
    case at::kDouble:
      return data::Element::Float64;
    default:
      return data::Element::Float32;
  }
}

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
at::Tensor wrap(const data::HostBatch& batch, const data::Preparation& p, c10::Device device) {
  const int64_t image = p.channels * p.rows * p.cols;
  const std::vector<int64_t> strides = p.layout == data::Layout::Nhwc
                                           ? std::vector<int64_t>{image, 1, p.cols * p.channels, p.channels}
                                           : std::vector<int64_t>{image, p.rows * p.cols, p.cols, 1};
  return at::from_blob(const_cast<void*>(batch.images), {batch.count, p.channels, p.rows, p.cols}, strides,
                       at::TensorOptions(typeOf(p.element)).device(batch.on_device ? device : c10::Device(c10::kCPU)));
}

class DirectFeed final : public Feed {
 public:
  DirectFeed(std::unique_ptr<data::Batches> batches, FeedOptions options, data::Preparation preparation,
             device::Device& device)
      : batches_(std::move(batches)), options_(std::move(options)), preparation_(preparation), device_(device) {}

  llvm::Expected<std::optional<DeviceBatch>> next() override {
    auto host = [&] {
      const profile::Range load(profile::Phase::Load);
      return batches_->next();
    }();
    if (!host) return host.takeError();
    if (!*host) return std::nullopt;
    std::optional<profile::Range> copy;
    if (options_.on_device || !device_.torchDevice().is_cpu()) copy.emplace(profile::Phase::Copy);
    DeviceBatch result;
    // On the CPU `to` gives the loader's memory itself.
    result.images = wrap(**host, preparation_, device_.torchDevice()).to(device_.torchDevice());
    result.labels = at::from_blob(const_cast<int64_t*>((*host)->labels), {(*host)->count}, at::TensorOptions(at::kLong))
                        .to(device_.torchDevice());
    if (options_.slices > 1) cut(result);
    if (options_.on_device) {
      result.images = prepareOnDevice(
          result.images, {.size = options_.size,
                          .channels_last = options_.channels_last,
                          .type = options_.transfer == Transfer::Compute ? options_.compute : options_.input});
    }
    result.count = result.images.size(0);
    result.epoch = (*host)->epoch;
    result.number = (*host)->number;
    result.last = (*host)->last;
    result.holder = std::move((*host)->holder);
    return result;
  }
  double waitSeconds() const override { return batches_->waitSeconds(); }
  int64_t skipped() const override { return batches_->skipped(); }

 private:
  void cut(DeviceBatch& batch) const {
    const int64_t count = batch.images.size(0), share = (count + options_.slices - 1) / options_.slices;
    const int64_t from = std::min(count, options_.slice * share), length = std::min(share, count - from);
    batch.images = batch.images.narrow(0, from, length);
    batch.labels = batch.labels.narrow(0, from, length);
  }

  std::unique_ptr<data::Batches> batches_;
  FeedOptions options_;
  data::Preparation preparation_;
  device::Device& device_;
};

}  // namespace

data::Preparation preparationOf(const FeedOptions& options, const std::optional<data::Shape>& shape) {
  data::Preparation result;
  result.rows = result.cols = options.size;
  result.layout = options.channels_last ? data::Layout::Nhwc : data::Layout::Nchw;
  result.element = elementOf(options.transfer == Transfer::UInt8     ? at::kByte
                             : options.transfer == Transfer::Compute ? options.compute
                                                                     : options.input);
  result.normalise = !options.on_device;
  if (options.on_device) result.layout = data::Layout::Nhwc;  // as decoded: nothing is turned on the host
  if (options.on_device && shape) {
    result.rows = shape->rows;
    result.cols = shape->cols;
    result.channels = shape->channels;
  }
  return result;
}

llvm::Expected<std::unique_ptr<Feed>> makeFeed(const data::Images& images, FeedOptions options,
                                               device::Device& device) {
  // Where there is a GPU, DALI does there what the other loaders do on the host.
  if (options.loader.kind == LoaderChoice::Kind::Dali && device.torchDevice().is_cuda()) {
    options.loader.device = device.torchDevice().index();
    options.loader.stream = device.stream();
    options.on_device = false;
  }
  data::BatchOptions wanted = options.batches;
  wanted.preparation = preparationOf(options, images.shape());
  const data::Preparation preparation = wanted.preparation;
  auto batches = openLoader(options.loader, images, std::move(wanted), {});
  if (!batches) return batches.takeError();
  return std::make_unique<DirectFeed>(std::move(*batches), std::move(options), preparation, device);
}

}  // namespace expc::feed
