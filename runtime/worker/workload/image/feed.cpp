#include "runtime/worker/workload/image/feed.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/worker/dali/dali_loader.h"
#include "runtime/worker/profile/range.h"

namespace expc::feed {
namespace {

using profile::Phase, profile::Range;

/// Of each data::Element.
constexpr c10::ScalarType kTypes[] = {at::kByte, at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

c10::ScalarType typeOf(data::Element element) { return kTypes[size_t(element)]; }

data::Element elementOf(c10::ScalarType type) {
  return static_cast<data::Element>(std::ranges::find(kTypes, type) - std::begin(kTypes));
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

c10::ScalarType crossing(const FeedOptions& options) {
  return options.transfer == Transfer::UInt8 ? at::kByte : resultType(options);
}

c10::ScalarType arithmetic(c10::ScalarType result) { return result == at::kDouble ? at::kDouble : at::kFloat; }

/// A value for each channel, to go with images whose result has this type.
at::Tensor constants(double (*of)(int64_t channel), c10::ScalarType type, c10::Device device) {
  std::vector<double> values;
  for (int64_t channel = 0; channel < data::kChannels; ++channel) values.push_back(of(channel));
  return at::tensor(values, at::kDouble).to(arithmetic(type)).view({1, data::kChannels, 1, 1}).to(device);
}

/// `gpu`: where DALI leaves its batches.
Expected<std::unique_ptr<data::Batches>> openLoader(LoaderKind kind, const data::Images& images,
                                                    data::LoaderOptions options, dali::Gpu gpu) {
  if (kind == LoaderKind::Dali) return dali::makeLoader(images, std::move(options), gpu);
  if (kind == LoaderKind::Native) return data::makeNativeLoader(images, std::move(options));
  return data::makeDataLoader(images, std::move(options));
}

}  // namespace

Feed::Feed(std::unique_ptr<data::Batches> batches, FeedOptions options, data::Preparation preparation,
           c10::Device device, std::unique_ptr<device::CopyQueue> queue, bool ahead)
    : batches_(std::move(batches)),
      options_(std::move(options)),
      preparation_(preparation),
      device_(device),
      queue_(std::move(queue)),
      stages_ahead_(ahead && queue_),
      factor_(constants([](int64_t channel) { return 1 / (255 * data::kStd[channel]); }, resultType(options_), device)),
      offset_(constants([](int64_t channel) { return -data::kMean[channel] / data::kStd[channel]; },
                        resultType(options_), device)) {
  if (queue_) in_flight_.emplace(*queue_);
}

Feed::~Feed() {
  if (next_ && !*next_) consumeError(next_->takeError());
}

Feed::Staging Feed::stage() {
  // What the loader may keep for us is known; it must be able to hand out another batch.
  if (in_flight_) in_flight_->reclaim(kHeldWithQueue - 1);
  auto host = TRY([&] {
    const Range load(Phase::Load);
    return batches_->next();
  }());
  if (!host) return std::nullopt;
  Staged staged;
  DeviceBatch& batch = staged.batch;
  batch.images = wrapImages(*host, preparation_, device_);
  batch.labels = wrapLabels(*host);
  batch.epoch = host->epoch;
  batch.number = host->number;
  batch.last = host->last;
  if (!queue_) {
    batch.holder = std::move(host->holder);
    return staged;
  }
  queue_->within([&] {
    const Range copy(Phase::Copy);
    // A batch that the loader left on the device has labels there too, as far as a script can tell.
    const bool waits = options_.blocking && !host->on_device;
    if (!host->on_device) batch.images = queue_->copy(batch.images);
    if (waits) queue_->finish();
    batch.labels = queue_->copy(batch.labels);
    if (waits) queue_->finish();
  });
  staged.mark = queue_->mark();
  // What the loader left on the device is read by the step itself.
  if (host->on_device) batch.holder = host->holder;
  in_flight_->add(staged.mark, std::move(host->holder));
  return staged;
}

Expected<std::optional<DeviceBatch>> Feed::next() {
  Staging staged = next_ ? std::move(*next_) : stage();
  next_.reset();
  if (!staged) return staged.takeError();
  if (!*staged) return std::nullopt;
  DeviceBatch batch = std::move((*staged)->batch);
  if (queue_) queue_->handOver((*staged)->mark, {batch.images, batch.labels});
  if (options_.slices > 1) cut(batch);
  if (options_.on_device) {
    const Range copy(Phase::Copy);
    batch.images = prepared(batch.images);
  }
  batch.count = batch.images.size(0);
  return batch;
}

void Feed::ahead() {
  if (stages_ahead_ && !next_) next_.emplace(stage());
}

void Feed::cut(DeviceBatch& batch) const {
  const int64_t count = batch.images.size(0), share = (count + options_.slices - 1) / options_.slices;
  const int64_t from = std::min(count, options_.slice * share), length = std::min(share, count - from);
  batch.images = batch.images.narrow(0, from, length);
  batch.labels = batch.labels.narrow(0, from, length);
}

/// Of images that crossed as they were decoded (count x 1 or 3 x rows x cols, 0 to 255): count x 3 x size x size of
/// (v / 255 - mean) / std of the bilinearly scaled values, antialiased where an axis shrinks, computed in float (in
/// double if that is the result's type): within 1/255 of the host's pixels, which are rounded to 8 bits after scaling
/// if they have colours.
at::Tensor Feed::prepared(const at::Tensor& images) const {
  at::NoGradGuard no_grad;
  const c10::ScalarType type = resultType(options_);
  const int64_t size = options_.size;
  at::Tensor x = images.to(arithmetic(type));
  if (x.size(2) != size || x.size(3) != size) x = at::_upsample_bilinear2d_aa(x, {size, size}, /*align_corners=*/false);
  x = at::addcmul(offset_, x, factor_);  // a grey image becomes three channels by broadcasting
  return x.to(type, /*non_blocking=*/false, /*copy=*/false,
              options_.channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

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

Expected<std::unique_ptr<Feed>> makeFeed(const data::Images& images, FeedOptions options, device::Device& device) {
  // Where there is a GPU, DALI does there what the other loaders do on the host.
  const bool dali = options.loader == LoaderKind::Dali, stays = dali && device.torchDevice().is_cuda();
  dali::Gpu gpu;
  if (stays) {
    gpu = {device.torchDevice().index(), device.stream()};
    options.on_device = false;
  }
  const bool native = options.loader == LoaderKind::Native;
  auto queue = device.copyQueue(/*beside=*/native);

  data::LoaderOptions wanted = options.batches;
  wanted.preparation = preparationOf(options, images.shape());
  // The native loader always writes into page-locked memory, where there is an accelerator; DALI's memory is its own.
  if (native || (options.pinned && !dali)) wanted.memory = device.pinnedMemory();
  wanted.held = queue && !stays ? kHeldWithQueue : 1;
  const data::Preparation preparation = wanted.preparation;
  auto batches = TRY(openLoader(options.loader, images, std::move(wanted), gpu));
  return std::make_unique<Feed>(std::move(batches), std::move(options), preparation, device.torchDevice(),
                                std::move(queue), native);
}

}  // namespace expc::feed
