#include "runtime/worker/workload/llm/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "runtime/worker/data/sampler.h"
#include "runtime/worker/workload/paths.h"

namespace expc::workload::llm {
namespace {

int64_t learntIn(const std::vector<text::Token>& labels) {
  if (labels.empty()) return 0;
  return std::count_if(labels.begin() + 1, labels.end(), [](text::Token label) { return label != text::kMasked; });
}

llvm::Error failure(const std::string& text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

/// Rows in tokens, and what stands behind short ones.
struct Tokenized {
  text::Samples samples;
  text::Token pad = 0;
  std::string origin;
  std::vector<std::string> notes;
};

/// The tokenizer of a study, held to the model's embedding.
llvm::Expected<text::Tokenizer> openTokenizer(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                              const std::string& model_folder, std::vector<std::string>& notes) {
  const auto opened = [&]() -> llvm::Expected<text::Tokenizer> {
    if (!parameters.tokenizer.empty()) return text::Tokenizer::open(tokenizerPath(parameters, root));
    if (!model_folder.empty()) return text::Tokenizer::open(model_folder);
    notes.push_back("no tokenizer is named and the model has none: each byte of the text is a token");
    return text::Tokenizer::bytes();
  };
  auto tokenizer = opened();
  if (!tokenizer) return failure("tokenizer: " + llvm::toString(tokenizer.takeError()));
  if (tokenizer->rows() > vocabulary)
    return failure(
        fmt::format("tokenizer: {} has tokens up to {}, the model's embedding has {} rows: use the model's "
                    "own tokenizer, or a model with a larger vocabulary",
                    tokenizer->origin(), tokenizer->rows() - 1, vocabulary));
  return tokenizer;
}

llvm::Expected<Tokenized> tokenized(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                    const std::string& model_folder, uint64_t seed) {
  const bool pairs = parameters.method == Method::Dpo;
  const auto most = static_cast<size_t>(parameters.max_length);
  Tokenized result;
  if (parameters.data.path.empty()) {
    auto tokens = static_cast<text::Token>(vocabulary);
    if (!parameters.tokenizer.empty()) {
      auto tokenizer = openTokenizer(parameters, root, vocabulary, model_folder, result.notes);
      if (!tokenizer) return tokenizer.takeError();
      tokens = tokenizer->rows();
      result.pad = tokenizer->special().pad;
    }
    int64_t count = parameters.data.synthetic;
    if (parameters.row_limit > 0) count = std::min(count, parameters.row_limit);
    result.samples = text::syntheticSamples(parameters.kind, count, pairs, tokens, seed, most);
    result.origin = fmt::format("synthetic({})", parameters.data.synthetic);
    return result;
  }
  auto tokenizer = openTokenizer(parameters, root, vocabulary, model_folder, result.notes);
  if (!tokenizer) return tokenizer.takeError();
  text::DatasetOptions options;
  options.path = pathFrom(root, parameters.data.path);
  options.kind = parameters.kind;
  options.pairs = pairs;
  options.row_limit = parameters.row_limit;
  auto dataset = text::readDataset(options);
  if (!dataset) return failure("data: " + llvm::toString(dataset.takeError()));
  if (dataset->borrowed_answers)
    result.notes.push_back("rows have one answer: the rejected one is the next row's that differs");
  auto samples = text::tokenize(*tokenizer, *dataset, most);
  if (!samples) return failure("data: " + llvm::toString(samples.takeError()));
  result.samples = std::move(*samples);
  result.pad = tokenizer->special().pad;
  result.origin = dataset->origin;
  return result;
}

/// Leaves out rows (or pairs) of which nothing is left to learn.
llvm::Error keepWhatLearns(Tokenized& rows, int64_t max_length) {
  text::Samples& samples = rows.samples;
  const size_t all = samples.chosen.size();
  const bool pairs = !samples.rejected.empty();
  size_t kept = 0;
  for (size_t i = 0; i < all; ++i) {
    if (!samples.chosen[i].learns() || (pairs && !samples.rejected[i].learns())) continue;
    if (kept != i) {
      samples.chosen[kept] = std::move(samples.chosen[i]);
      if (pairs) samples.rejected[kept] = std::move(samples.rejected[i]);
    }
    ++kept;
  }
  if (kept == 0)
    return failure(
        fmt::format("data: of none of the {} rows of {} anything is left to learn within max_length = {} "
                    "tokens: the answers lie behind it; raise max_length",
                    all, rows.origin, max_length));
  samples.chosen.resize(kept);
  if (pairs) samples.rejected.resize(kept);
  if (samples.cut > 0)
    rows.notes.push_back(fmt::format("{} of {} texts were cut at max_length = {} tokens", samples.cut,
                                     pairs ? 2 * all : all, max_length));
  if (kept < all)
    rows.notes.push_back(
        fmt::format("{} of {} rows are left out: within max_length nothing of their answer is left", all - kept, all));
  return llvm::Error::success();
}

std::vector<text::Sample> take(std::vector<text::Sample>& from, const std::vector<int64_t>& which) {
  std::vector<text::Sample> result;
  result.reserve(which.size());
  if (!from.empty())
    for (const int64_t at : which) result.push_back(std::move(from[static_cast<size_t>(at)]));
  return result;
}

}  // namespace

Items::Items(std::vector<text::Sample> chosen, std::vector<text::Sample> rejected, text::Token pad)
    : kind_(rejected.empty() ? Kind::Rows : Kind::Pairs),
      chosen_(std::move(chosen)),
      rejected_(std::move(rejected)),
      pad_(pad) {
  assert(kind_ == Kind::Rows || chosen_.size() == rejected_.size());
  for (size_t i = 0; i < chosen_.size(); ++i) {
    Size& size = sizes_.emplace_back();
    addText(size, static_cast<int64_t>(chosen_[i].size()));
    size.learnt = learntIn(chosen_[i].labels);
    if (kind_ != Kind::Pairs) continue;
    addText(size, static_cast<int64_t>(rejected_[i].size()));
    size.learnt += learntIn(rejected_[i].labels);
  }
}

Items::Items(std::vector<text::Pack> packs) : kind_(Kind::Packs), packs_(std::move(packs)) {
  for (const text::Pack& pack : packs_) {
    Size& size = sizes_.emplace_back();
    size.learnt = learntIn(pack.labels);
    for (size_t i = 0; size.tokens < pack.real; ++i) addText(size, pack.lengths[i]);
  }
}

void Items::addText(Size& size, int64_t length) {
  const auto tokens = static_cast<double>(length);
  size.tokens += tokens;
  size.seen += tokens * (tokens + 1) / 2;
}

int64_t Items::count() const { return static_cast<int64_t>(sizes_.size()); }

text::TokenBatch Items::batch(llvm::ArrayRef<int64_t> items) const {
  const auto chosen = [&](const auto& from) {
    std::vector<decltype(from.data())> result;
    for (const int64_t item : items) result.push_back(&from[static_cast<size_t>(item)]);
    return result;
  };
  switch (kind_) {
    case Kind::Packs:
      return text::collatePacks(chosen(packs_));
    case Kind::Pairs:
      return text::collatePairs(chosen(chosen_), chosen(rejected_), pad_);
    case Kind::Rows:
      break;
  }
  return text::collate(chosen(chosen_), pad_);
}

std::string tokenizerPath(const Parameters& parameters, const std::string& root) {
  return parameters.tokenizer.empty() ? "" : pathFrom(root, parameters.tokenizer);
}

int64_t heldOutOf(int64_t rows) { return std::clamp<int64_t>(rows / 10, 1, kMostHeldOut); }

llvm::Expected<RowSets> openRows(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                 const std::string& model_folder, uint64_t seed, bool hold_out) {
  auto rows = tokenized(parameters, root, vocabulary, model_folder, seed);
  if (!rows) return rows.takeError();
  if (auto error = keepWhatLearns(*rows, parameters.max_length)) return error;
  text::Samples& samples = rows->samples;
  const auto count = static_cast<int64_t>(samples.chosen.size());
  if (hold_out && count < 2)
    return failure(
        fmt::format("data: {} has one row to learn from, and a quality trial holds at least one out: more "
                    "rows",
                    rows->origin));
  const int64_t apart = hold_out ? heldOutOf(count) : 0;
  std::vector<int64_t> train(static_cast<size_t>(count)), held_out;
  std::iota(train.begin(), train.end(), 0);
  if (apart > 0) {
    train = data::randomPermutation(count, seed);
    held_out.assign(train.end() - apart, train.end());
    train.resize(static_cast<size_t>(count - apart));
    std::sort(train.begin(), train.end());
    std::sort(held_out.begin(), held_out.end());
  }
  Items apart_items(take(samples.chosen, held_out), take(samples.rejected, held_out), rows->pad);
  std::vector<text::Sample> chosen = take(samples.chosen, train);
  std::vector<std::string> notes = std::move(rows->notes);
  if (apart > 0) notes.push_back(fmt::format("{} of {} rows are held out for evaluation", apart, count));
  if (!parameters.packing)
    return RowSets{Items(std::move(chosen), take(samples.rejected, train), rows->pad), std::move(apart_items),
                   rows->origin, std::move(notes)};
  auto packs = text::packSamples(chosen, static_cast<size_t>(parameters.max_length), /*split=*/false);
  if (!packs) return failure("data: " + llvm::toString(packs.takeError()));
  notes.push_back(
      fmt::format("{} rows are {} packs of {} tokens", chosen.size(), packs->size(), parameters.max_length));
  return RowSets{Items(std::move(*packs)), std::move(apart_items), rows->origin, std::move(notes)};
}

}  // namespace expc::workload::llm
