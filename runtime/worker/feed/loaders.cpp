#include "runtime/worker/feed/loaders.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/worker/data/loader.h"
#include "runtime/worker/data/scaler.h"

namespace expc::feed {
namespace {

/// Images of one shape, prepared one by one.
class PreparedImages final : public data::Source {
 public:
  PreparedImages(const data::Images& images, data::Shape shape, const data::Preparation& preparation)
      : images_(images),
        preparation_(preparation),
        scaler_(shape.rows, shape.cols, preparation.rows, preparation.layout) {}

  int64_t count() const override { return images_.count(); }
  int64_t imageBytes() const override { return static_cast<int64_t>(preparation_.imageBytes()); }

  llvm::Error fill(int64_t index, void* image, int64_t* label) const override {
    thread_local std::vector<uint8_t> scratch;
    auto pixels = images_.read(index, scratch);
    if (!pixels) return pixels.takeError();
    *label = images_.label(index);
    const int64_t values = pixels->rows * pixels->cols * pixels->channels;
    using data::Element;
    if (preparation_.element == Element::UInt8) {
      std::copy_n(pixels->data, values, static_cast<uint8_t*>(image));
    } else if (!preparation_.normalise && preparation_.element == Element::Float64) {
      std::copy_n(pixels->data, values, static_cast<double*>(image));
    } else if (!preparation_.normalise) {
      std::copy_n(pixels->data, values, static_cast<float*>(image));
    } else if (preparation_.element == Element::Float64) {
      scaler_.apply(pixels->data, static_cast<double*>(image));
    } else {
      scaler_.apply(pixels->data, static_cast<float*>(image));
    }
    return llvm::Error::success();
  }

 private:
  const data::Images& images_;
  data::Preparation preparation_;
  data::Scaler scaler_;
};

/// The threads of data/loader.h behind the face of all loaders.
class DataLoader final : public data::Batches {
 public:
  static llvm::Expected<std::unique_ptr<data::Batches>> open(const LoaderChoice& choice, const data::Images& images,
                                                             data::BatchOptions options) {
    const auto shape = images.shape();
    if (!shape) return llvm::createStringError(images.origin() + ": images of different shapes are not in this build");
    std::unique_ptr<DataLoader> result(new DataLoader);
    result->source_ = std::make_unique<PreparedImages>(images, *shape, options.preparation);
    data::LoaderOptions wanted;
    wanted.order = std::move(options.order);
    wanted.batch = options.batch;
    wanted.drop_last = options.drop_last;
    wanted.first_epoch = options.first_epoch;
    wanted.epochs = options.epochs;
    wanted.workers = choice.workers;
    wanted.prefetch = choice.prefetch;
    wanted.held = options.held;
    auto loader = data::Loader::create(*result->source_, std::move(wanted));
    if (!loader) return loader.takeError();
    result->loader_ = std::move(*loader);
    return result;
  }

  llvm::Expected<std::optional<data::HostBatch>> next() override {
    auto batch = loader_->next();
    if (!batch) return batch.takeError();
    if (!*batch) return std::nullopt;
    auto kept = std::make_shared<data::Batch>(std::move(**batch));
    data::HostBatch result;
    result.images = kept->images;
    result.labels = kept->labels;
    result.count = kept->count;
    result.epoch = kept->epoch;
    result.number = kept->number;
    result.last = kept->last;
    result.holder = std::move(kept);
    return result;
  }
  double waitSeconds() const override { return loader_->waitSeconds(); }
  int64_t skipped() const override { return 0; }

 private:
  DataLoader() = default;
  std::unique_ptr<data::Source> source_;
  std::unique_ptr<data::Loader> loader_;
};

}  // namespace

llvm::Expected<std::unique_ptr<data::Batches>> openLoader(const LoaderChoice& choice, const data::Images& images,
                                                          data::BatchOptions options, const data::Memory& /*memory*/) {
  switch (choice.kind) {
    case LoaderChoice::Kind::DataLoader:
      return DataLoader::open(choice, images, std::move(options));
    case LoaderChoice::Kind::Dali:
      return llvm::createStringError("not in this build: loader = dali");
    case LoaderChoice::Kind::Native:
      return llvm::createStringError("not in this build: loader = native");
  }
  return llvm::createStringError("no such loader");
}

}  // namespace expc::feed
