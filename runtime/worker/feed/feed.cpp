#include "runtime/worker/feed/feed.h"

#include "runtime/worker/feed/device_feed.h"

namespace expc::feed {
namespace {

data::Element elementOf(c10::ScalarType type) {
  switch (type) {
    case c10::ScalarType::Byte:
      return data::Element::UInt8;
    case c10::ScalarType::Half:
      return data::Element::Float16;
    case c10::ScalarType::BFloat16:
      return data::Element::BFloat16;
    case c10::ScalarType::Double:
      return data::Element::Float64;
    default:
      return data::Element::Float32;
  }
}

c10::ScalarType crossing(const FeedOptions& options) {
  switch (options.transfer) {
    case Transfer::UInt8:
      return c10::ScalarType::Byte;
    case Transfer::Compute:
      return options.compute;
    case Transfer::AsInput:
      break;
  }
  return options.input;
}

}  // namespace

data::Preparation preparationOf(const FeedOptions& options, const std::optional<data::Shape>& shape) {
  data::Preparation result;
  result.rows = result.cols = options.size;
  result.layout = options.channels_last ? data::Layout::Nhwc : data::Layout::Nchw;
  result.element = elementOf(crossing(options));
  if (!options.on_device) return result;
  result.normalise = false;
  // As decoded: nothing is turned or scaled on the host, unless only that makes a batch of them.
  result.layout = data::Layout::Nhwc;
  if (shape) {
    result.rows = shape->rows;
    result.cols = shape->cols;
    result.channels = shape->channels;
  }
  return result;
}

llvm::Expected<std::unique_ptr<Feed>> makeFeed(const data::Images& images, FeedOptions options,
                                               device::Device& device) {
  // Where there is a GPU, DALI does there what the other loaders do on the host.
  const bool dali = options.loader.kind == LoaderChoice::Kind::Dali, stays = dali && device.torchDevice().is_cuda();
  if (stays) {
    options.loader.device = device.torchDevice().index();
    options.loader.stream = device.stream();
    options.on_device = false;
  }
  const bool native = options.loader.kind == LoaderChoice::Kind::Native;
  // The native loader always writes into page-locked memory, where there is an accelerator; DALI's memory is its own.
  const auto pinned = native || (options.pinned && !dali) ? device.pinnedMemory() : std::nullopt;
  data::Memory memory;
  if (pinned) memory = {pinned->allocate, pinned->release};
  auto queue = device.copyQueue(/*beside=*/native);

  data::BatchOptions wanted = options.batches;
  wanted.preparation = preparationOf(options, images.shape());
  wanted.pinned = pinned.has_value();
  wanted.held = queue && !stays ? kHeldWithQueue : 1;
  const data::Preparation preparation = wanted.preparation;
  auto batches = openLoader(options.loader, images, std::move(wanted), memory);
  if (!batches) return batches.takeError();
  return std::make_unique<DeviceFeed>(std::move(*batches), std::move(options), preparation, device.torchDevice(),
                                      std::move(queue), native);
}

}  // namespace expc::feed
