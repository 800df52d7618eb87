#include "runtime/worker/dali/dali_loader.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/loader.h"
#include "runtime/worker/dali/pipeline.h"

namespace expc::dali {
namespace {

/// What DALI was fed for one batch, kept until it was taken.
struct Fed {
  data::PlannedBatch plan;
  std::vector<std::string> paths;
  std::vector<std::vector<uint8_t>> scratch;
  std::vector<Sample> samples;
};

/// What a batch keeps alive.
struct Held {
  std::shared_ptr<Pipeline> pipeline;  // before the output: it goes last
  std::unique_ptr<Output> output;
  std::vector<int64_t> labels;
};

class DaliLoader final : public data::Loader {
 public:
  DaliLoader(const data::Images& images, data::LoaderOptions options, Gpu gpu, const Library& library)
      : Loader(options.held),
        images_(images),
        options_(std::move(options)),
        gpu_(gpu),
        library_(library),
        plan_(options_) {}

  Error start();

 private:
  int64_t index(const Fed& fed, size_t item) const { return (*fed.plan.order)[size_t(fed.plan.begin) + item]; }
  Error choose(bool scale);
  Error feedOne();
  void feedAhead();
  Error fill(Fed& fed) const;
  Expected<std::optional<data::HostBatch>> take() override;
  Expected<std::unique_ptr<Output>> takeScaled();
  bool asWanted(const Output& output) const;
  Error explain(const Fed& fed, Error error) const;

  const data::Images& images_;
  const data::LoaderOptions options_;
  const Gpu gpu_;
  const Library& library_;
  data::BatchPlan plan_;
  GraphOptions graph_;
  std::shared_ptr<Pipeline> pipeline_;
  std::deque<Fed> fed_;     // oldest first
  bool exhausted_ = false;  // nothing is left to feed
  std::string deferred_;    // why: an error whose turn comes after what was fed
};

/// Builds the pipeline, with or without the operator that scales.
Error DaliLoader::choose(bool scale) {
  graph_.scale = scale;
  auto graph = TRY(makeGraph(graph_));
  pipeline_ = TRY(Pipeline::create(library_, graph,
                                   {.batch = int(options_.batch),
                                    .threads = int(std::max(1u, options_.workers)),
                                    .ahead = options_.workers == 0 ? 1 : int(options_.prefetch),
                                    .device = gpu_.index}));
  return Error::success();
}

Error DaliLoader::start() {
  const data::Preparation& wanted = options_.preparation;
  graph_.preparation = wanted;
  graph_.on_device = gpu_.index >= 0;
  auto order = TRY(plan_.beginEpoch());
  if (!order) {
    exhausted_ = true;
    return Error::success();
  }
  // Scaling costs DALI thrice the time of decoding even where it changes nothing: it is left out while images have the
  // size already. What the first one says is believed until a batch shows another size.
  const int64_t first = order->front();
  std::vector<uint8_t> scratch;
  auto shape = images_.shape();
  if (!shape) {
    auto pixels = TRY(images_.read(first, scratch));
    shape = data::Shape{pixels.rows, pixels.cols, pixels.channels};
  }
  graph_.source = !images_.file(first).empty() ? Source::Files
                  : shape->channels == 1       ? Source::GreyPixels
                                               : Source::Pixels;
  TRY(choose(shape->rows != wanted.rows || shape->cols != wanted.cols));
  for (unsigned i = 0; i < options_.prefetch; ++i) feedAhead();
  return Error::success();
}

void DaliLoader::feedAhead() {
  if (options_.workers == 0 || exhausted_) return;
  if (auto error = feedOne()) {
    deferred_ = toString(std::move(error));
    exhausted_ = true;
  }
}

/// Feeds the next batch of the plan, if there is one.
Error DaliLoader::feedOne() {
  if (!plan_.hasNext()) {
    auto order = TRY(plan_.beginEpoch());
    if (!order) {
      exhausted_ = true;
      return Error::success();
    }
  }
  Fed fed;
  fed.plan = plan_.next();
  TRY(fill(fed));
  TRY(pipeline_->run(fed.samples));
  fed_.push_back(std::move(fed));
  return Error::success();
}

Error DaliLoader::fill(Fed& fed) const {
  const auto count = size_t(fed.plan.count);
  fed.samples.resize(count);
  if (graph_.source == Source::Files) fed.paths.resize(count);
  if (graph_.source != Source::Files) fed.scratch.resize(count);
  for (size_t i = 0; i < count; ++i) {
    Sample& sample = fed.samples[i];
    if (graph_.source == Source::Files) {
      fed.paths[i] = images_.file(index(fed, i));
      sample.data = fed.paths[i].data();
      sample.shape = {std::ssize(fed.paths[i]), 0, 0};
      sample.name = fed.paths[i].c_str();
      continue;
    }
    auto pixels = TRY(images_.read(index(fed, i), fed.scratch[i]));
    if (pixels.channels != (graph_.source == Source::GreyPixels ? 1 : 3))
      return failure("loader dali: image {} of {} has {} channels, others have another number", index(fed, i),
                     images_.origin(), pixels.channels);
    sample.data = pixels.data;
    sample.shape = {pixels.rows, pixels.cols, pixels.channels};
  }
  return Error::success();
}

bool DaliLoader::asWanted(const Output& output) const {
  const data::Preparation& p = options_.preparation;
  const std::vector<int64_t> wanted = p.layout == data::Layout::Nhwc ? std::vector<int64_t>{p.rows, p.cols, p.channels}
                                                                     : std::vector<int64_t>{p.channels, p.rows, p.cols};
  return output.imageShape() == wanted;
}

/// The oldest batch. Where one shows that its images do want scaling, what is under way begins anew with it.
Expected<std::unique_ptr<Output>> DaliLoader::takeScaled() {
  while (true) {
    auto output = pipeline_->take(gpu_.stream);
    if (!output) return explain(fed_.front(), output.takeError());
    if (asWanted(**output) || graph_.scale) return output;
    output->reset();
    TRY(choose(true));
    for (const Fed& fed : fed_) TRY(pipeline_->run(fed.samples));
  }
}

Expected<std::optional<data::HostBatch>> DaliLoader::take() {
  if (fed_.empty() && !exhausted_) TRY(feedOne());
  if (fed_.empty() && !deferred_.empty()) return failure("{}", deferred_);
  if (fed_.empty()) return std::nullopt;
  auto output = TRY(takeScaled());
  const Fed fed = std::move(fed_.front());
  fed_.pop_front();
  const size_t bytes = size_t(fed.plan.count) * options_.preparation.imageBytes();
  if (!asWanted(*output) || output->bytes() != bytes)
    return failure("loader dali: DALI returned {} bytes for {} images of {}, expected {}", output->bytes(),
                   fed.plan.count, images_.origin(), bytes);
  auto held = std::make_shared<Held>();
  held->pipeline = pipeline_;
  held->output = std::move(output);
  for (size_t i = 0; i < size_t(fed.plan.count); ++i) held->labels.push_back(images_.label(index(fed, i)));
  data::HostBatch batch = data::delivered(fed.plan);
  batch.images = held->output->data();
  batch.labels = held->labels.data();
  batch.on_device = graph_.on_device;
  batch.holder = std::move(held);
  feedAhead();
  return batch;
}

/// DALI does not always say which image it could not prepare; ours is asked then.
Error DaliLoader::explain(const Fed& fed, Error error) const {
  const std::string said = toString(std::move(error));
  std::string ours;
  std::vector<uint8_t> scratch;
  for (size_t i = 0; i < size_t(fed.plan.count) && ours.empty(); ++i) {
    auto pixels = images_.read(index(fed, i), scratch);
    if (!pixels) ours = toString(pixels.takeError());
  }
  if (ours.empty()) {
    ours = fmt::format("loader dali: one of {} images of {} cannot be prepared", fed.plan.count, images_.origin());
    for (const std::string& path : fed.paths)
      if (said.find(path) != std::string::npos) ours = path + ": DALI cannot decode this image";
  }
  return failure("{} (DALI says: {})", ours, said);
}

}  // namespace

bool isBuilt() { return true; }

Expected<std::unique_ptr<data::Batches>> makeLoader(const data::Images& images, data::LoaderOptions options, Gpu gpu) {
  TRY(data::checkOptions(options));
  if (options.on_corrupt != data::OnCorrupt::Fail)
    return failure(
        "loader dali: DALI rejects a whole batch for one corrupt image; use on_corrupt = fail, or another loader");
  auto library = TRY(load());
  auto loader = std::make_unique<DaliLoader>(images, std::move(options), gpu, *library);
  TRY(loader->start());
  return loader;
}

}  // namespace expc::dali
