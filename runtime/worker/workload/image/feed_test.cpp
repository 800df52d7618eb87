// What crosses, and what of it arrives: the CPU as a device, and a queue of copies under the test's control.

#include "runtime/worker/workload/image/feed.h"

#include <ATen/ATen.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

#include "runtime/worker/device/device.h"
#include "runtime/worker/profile/range.h"

using namespace expc;
using feed::Transfer;

namespace {

/// Deterministic images, of one shape or of two.
class TestImages final : public data::Images {
 public:
  TestImages(int64_t channels, bool same) : channels_(channels), same_(same) {}
  int64_t count() const override { return 10; }
  int64_t classes() const override { return 10; }
  const std::string& origin() const override { return origin_; }
  std::optional<data::Shape> shape() const override {
    return same_ ? std::optional(data::Shape{12, 20, channels_}) : std::nullopt;
  }
  int64_t label(int64_t index) const override { return index; }
  llvm::Expected<data::Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const override {
    const int64_t rows = same_ || index % 2 == 0 ? 12 : 17, cols = 20;
    scratch.resize(size_t(rows * cols * channels_));
    for (size_t i = 0; i < scratch.size(); ++i) scratch[i] = uint8_t((i * 37 + index * 11) % 251);
    return data::Pixels{scratch.data(), rows, cols, channels_};
  }

 private:
  int64_t channels_;
  bool same_;
  std::string origin_ = "test";
};

feed::FeedOptions optionsFor(int64_t batch, int64_t size = 16) {
  feed::FeedOptions options;
  options.batches.order = [](int64_t) {
    std::vector<int64_t> order(10);
    std::iota(order.begin(), order.end(), 0);
    return order;
  };
  options.batches.batch = batch;
  options.batches.epochs = 1;
  options.size = size;
  return options;
}

std::unique_ptr<device::Device> cpu() {
  const llvm::json::Value slot = llvm::json::Object{{"device", "cpu"}, {"cores", llvm::json::Array{0}}};
  auto device = device::cpuBackend().open(slot);
  REQUIRE(bool(device));
  return std::move(*device);
}

feed::DeviceBatch first(const data::Images& images, const feed::FeedOptions& options, device::Device& device) {
  auto feed = feed::makeFeed(images, options, device);
  REQUIRE_MESSAGE(bool(feed), llvm::toString(feed.takeError()));
  auto batch = (*feed)->next();
  REQUIRE(bool(batch));
  REQUIRE(batch->has_value());
  auto result = std::move(**batch);
  // Independent of the feed's memory.
  result.images = result.images.clone();
  result.labels = result.labels.clone();
  return result;
}

/// Copies nothing until it is waited for.
class LazyQueue final : public device::CopyQueue {
 public:
  struct Log {
    int queued = 0, done = 0, handed_over = 0, finished = 0;
    bool within = false;
  };
  explicit LazyQueue(std::shared_ptr<Log> log) : log_(std::move(log)) {}
  at::Tensor copy(const at::Tensor& host) override {
    auto result = at::full(host.sizes(), -1, host.options());
    pending_.emplace_back(host, result);
    ++log_->queued;
    return result;
  }
  Mark mark() override { return std::make_shared<int>(log_->queued); }
  void finish() override {
    ++log_->finished;
    wait(mark());
  }
  void handOver(const Mark& mark, const std::vector<at::Tensor>& tensors) override {
    CHECK(tensors.size() == 2);
    ++log_->handed_over;
    wait(mark);
  }
  void within(const std::function<void()>& body) override {
    log_->within = true;
    body();
    log_->within = false;
  }
  bool reached(const Mark& mark) override { return log_->done >= *static_cast<int*>(mark.get()); }
  void wait(const Mark& mark) override {
    while (!reached(mark)) {
      pending_.front().second.copy_(pending_.front().first);
      pending_.erase(pending_.begin());
      ++log_->done;
    }
  }

 private:
  std::shared_ptr<Log> log_;
  std::vector<std::pair<at::Tensor, at::Tensor>> pending_;
};

/// Batches of one value, in memory that is scribbled on as soon as it is given back.
class ScribblingBatches final : public data::Batches {
 public:
  explicit ScribblingBatches(int64_t count, std::shared_ptr<int> held, std::string failure = "")
      : left_(count), held_(std::move(held)), failure_(std::move(failure)) {}
  llvm::Expected<std::optional<data::HostBatch>> next() override {
    if (left_ == 0 && !failure_.empty()) return llvm::createStringError(failure_);
    if (left_ == 0) return std::nullopt;
    --left_;
    struct Memory {
      std::vector<float> images;
      std::vector<int64_t> labels;
    };
    auto* memory = new Memory{std::vector<float>(2 * 3 * 4 * 4, float(number_)), {number_, number_}};
    ++*held_;
    most_held = std::max(most_held, *held_);
    data::HostBatch batch;
    batch.images = memory->images.data();
    batch.labels = memory->labels.data();
    batch.count = 2;
    batch.number = number_++;
    batch.holder = std::shared_ptr<void>(memory, [held = held_](void* given) {
      auto* own = static_cast<Memory*>(given);
      std::fill(own->images.begin(), own->images.end(), -7.0f);
      --*held;
      delete own;
    });
    return batch;
  }
  double waitSeconds() const override { return 0; }
  int64_t skipped() const override { return 0; }
  int most_held = 0;

 private:
  int64_t left_, number_ = 0;
  std::shared_ptr<int> held_;
  std::string failure_;
};

}  // namespace

TEST_CASE("what crosses follows transfer_dtype and preprocessing") {
  using data::Element;
  feed::FeedOptions options = optionsFor(4);
  options.channels_last = false;
  const data::Shape shape{28, 28, 1};
  const auto preparation = [&](Transfer transfer, bool on_device, bool shaped = true) {
    options.transfer = transfer;
    options.on_device = on_device;
    return feed::preparationOf(options, shaped ? std::optional(shape) : std::nullopt);
  };
  auto p = preparation(Transfer::AsInput, false);
  CHECK((p.element == Element::Float32 && p.normalise && p.rows == 16 && p.channels == 3));
  CHECK((p.layout == data::Layout::Nchw));
  p = preparation(Transfer::UInt8, true);
  CHECK((p.element == Element::UInt8 && !p.normalise && p.imageBytes() == 28 * 28));
  p = preparation(Transfer::UInt8, true, false);  // of many shapes: scaled on the host, still bytes
  CHECK((p.element == Element::UInt8 && p.imageBytes() == 16 * 16 * 3));
  p = preparation(Transfer::AsInput, true);
  CHECK((p.element == Element::Float32 && !p.normalise && p.rows == 28));
  options.compute = at::kBFloat16;
  CHECK((preparation(Transfer::Compute, false).element == Element::BFloat16));
  CHECK((preparation(Transfer::AsInput, false).element == Element::Float32));
  options.compute = at::kHalf;
  CHECK((preparation(Transfer::Compute, false).element == Element::Float16));
  options.input = options.compute = at::kDouble;
  CHECK((preparation(Transfer::Compute, false).element == Element::Float64));
  CHECK((preparation(Transfer::AsInput, false).element == Element::Float64));
}

TEST_CASE("however it crosses, the network gets the same pixels within 1/255") {
  const auto device = cpu();
  const double tolerance = 1 / (255 * 0.224);  // of normalised values
  for (const bool grey : {true, false}) {
    for (const bool same : {true, false}) {
      for (const bool channels_last : {true, false}) {
        CAPTURE(grey);
        CAPTURE(same);
        CAPTURE(channels_last);
        const TestImages images(grey ? 1 : 3, same);
        feed::FeedOptions options = optionsFor(4);
        options.channels_last = channels_last;
        const auto plain = first(images, options, *device);
        CHECK(plain.images.sizes().vec() == std::vector<int64_t>{4, 3, 16, 16});
        CHECK(
            plain.images.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous));
        for (const auto& [transfer, compute, on_device] : {std::tuple(Transfer::UInt8, at::kFloat, true),
                                                           {Transfer::AsInput, at::kFloat, true},
                                                           {Transfer::Compute, at::kFloat, true},
                                                           {Transfer::Compute, at::kBFloat16, true},
                                                           {Transfer::Compute, at::kHalf, true},
                                                           {Transfer::Compute, at::kBFloat16, false},
                                                           {Transfer::Compute, at::kHalf, false},
                                                           {Transfer::Compute, at::kFloat, false}}) {
          CAPTURE(int(transfer));
          CAPTURE(c10::toString(compute));
          CAPTURE(on_device);
          feed::FeedOptions other = options;
          other.transfer = transfer;
          other.compute = compute;
          other.on_device = on_device;
          const auto batch = first(images, other, *device);
          CHECK((batch.images.scalar_type() == (transfer == Transfer::Compute ? compute : at::kFloat)));
          CHECK(batch.labels.equal(plain.labels));
          CHECK(batch.images.is_contiguous(channels_last ? at::MemoryFormat::ChannelsLast
                                                         : at::MemoryFormat::Contiguous));
          const double worst = (batch.images.to(at::kFloat) - plain.images).abs().max().item<double>();
          // bf16 keeps 8 bits: its own rounding of a value near 2.6 is coarser than a pixel.
          CHECK(worst <= (compute == at::kBFloat16 ? tolerance + 0.0079 : tolerance * 1.001));
        }
      }
    }
  }
}

TEST_CASE("fp64 stays fp64 on the way") {
  const auto device = cpu();
  const TestImages images(1, true);
  feed::FeedOptions options = optionsFor(4);
  options.input = options.compute = at::kDouble;
  const auto plain = first(images, options, *device);
  CHECK((plain.images.scalar_type() == at::kDouble));
  options.on_device = true;
  options.transfer = Transfer::UInt8;
  CHECK((first(images, options, *device).images - plain.images).abs().max().item<double>() < 1e-5);
}

TEST_CASE("a slice of the batch is delivered") {
  const auto device = cpu();
  const TestImages images(1, true);
  const auto whole = first(images, optionsFor(8), *device);
  std::vector<at::Tensor> parts, labels;
  for (int64_t i = 0; i < 4; ++i) {
    feed::FeedOptions options = optionsFor(8);
    options.slice = i;
    options.slices = 4;
    auto part = first(images, options, *device);
    CHECK(part.count == 2);
    parts.push_back(part.images);
    labels.push_back(part.labels);
  }
  CHECK(at::cat(parts).equal(whole.images));
  CHECK(at::cat(labels).equal(whole.labels));
}

TEST_CASE("with a queue the next copy is queued ahead, and memory is given back only when its copy is done") {
  for (const bool ahead : {false, true}) {
    CAPTURE(ahead);
    auto log = std::make_shared<LazyQueue::Log>();
    auto held = std::make_shared<int>(0);
    auto batches = std::make_unique<ScribblingBatches>(8, held);
    auto* loader = batches.get();
    feed::FeedOptions options = optionsFor(2, 4);
    data::Preparation preparation = feed::preparationOf(options, std::nullopt);
    feed::Feed feed(std::move(batches), options, preparation, c10::Device(c10::kCPU), std::make_unique<LazyQueue>(log),
                    ahead);
    for (int64_t number = 0; number < 8; ++number) {
      auto batch = feed.next();
      REQUIRE(bool(batch));
      REQUIRE(batch->has_value());
      CHECK((*batch)->number == number);
      CHECK((*batch)->images.eq(double(number)).all().item<bool>());
      CHECK((*batch)->labels.eq(number).all().item<bool>());
      CHECK(log->handed_over == number + 1);
      const int queued = log->queued;
      feed.ahead();
      feed.ahead();  // one batch, not two
      CHECK(log->queued == queued + (ahead && number < 7 ? 2 : 0));
      CHECK((*batch)->images.eq(double(number)).all().item<bool>());
    }
    CHECK(loader->most_held <= int(feed::kHeldWithQueue));
    auto end = feed.next();
    REQUIRE(bool(end));
    CHECK_FALSE(end->has_value());
    CHECK(*held <= 3);
  }
}

TEST_CASE("an error met ahead comes when its batch is asked for, and a feed may be dropped in the middle") {
  auto log = std::make_shared<LazyQueue::Log>();
  auto held = std::make_shared<int>(0);
  const feed::FeedOptions options = optionsFor(2, 4);
  const data::Preparation preparation = feed::preparationOf(options, std::nullopt);
  {
    feed::Feed feed(std::make_unique<ScribblingBatches>(1, held, "a.jpeg is cut short"), options, preparation,
                    c10::Device(c10::kCPU), std::make_unique<LazyQueue>(log), true);
    REQUIRE(bool(feed.next()));
    feed.ahead();
    auto failed = feed.next();
    REQUIRE_FALSE(bool(failed));
    CHECK(llvm::toString(failed.takeError()) == "a.jpeg is cut short");
    feed.ahead();  // an error that nobody asks for
  }
  {
    feed::Feed feed(std::make_unique<ScribblingBatches>(4, held), options, preparation, c10::Device(c10::kCPU),
                    std::make_unique<LazyQueue>(log), true);
    REQUIRE(bool(feed.next()));
    feed.ahead();
  }
  CHECK(*held == 0);
  CHECK(log->done == log->queued);  // no copy reads memory that is gone
}

TEST_CASE("copies are timed in the queue that they are in") {
  auto log = std::make_shared<LazyQueue::Log>();
  auto held = std::make_shared<int>(0);
  const feed::FeedOptions options = optionsFor(2, 4);
  struct Clock final : profile::PhaseClock {
    explicit Clock(LazyQueue::Log& log) : log(log) {}
    void begin(profile::Phase phase) override { note(phase); }
    void end(profile::Phase phase) override { note(phase); }
    profile::PhaseTimes take() override { return {}; }
    void note(profile::Phase phase) {
      if (phase != profile::Phase::Copy) return;
      CHECK(log.within);
      queued.push_back(log.queued);
    }
    LazyQueue::Log& log;
    std::vector<int> queued;
  } clock(*log);
  feed::Feed feed(std::make_unique<ScribblingBatches>(1, held), options, feed::preparationOf(options, std::nullopt),
                  c10::Device(c10::kCPU), std::make_unique<LazyQueue>(log), true);
  const profile::Measuring measuring(clock);
  REQUIRE(bool(feed.next()));
  CHECK(clock.queued == std::vector<int>{0, 2});  // images and labels are between
}

TEST_CASE("the host waits for images and for labels where copies block it") {
  for (const bool blocking : {false, true}) {
    auto log = std::make_shared<LazyQueue::Log>();
    auto held = std::make_shared<int>(0);
    feed::FeedOptions options = optionsFor(2, 4);
    options.blocking = blocking;
    feed::Feed feed(std::make_unique<ScribblingBatches>(3, held), options, feed::preparationOf(options, std::nullopt),
                    c10::Device(c10::kCPU), std::make_unique<LazyQueue>(log), false);
    auto batch = feed.next();
    REQUIRE(bool(batch));
    CHECK((*batch)->labels.eq(0).all().item<bool>());
    CHECK(log->finished == (blocking ? 2 : 0));
  }
}
