// Rows, items and their order. The ranks exchange small tables of numbers with one kind of reduction, the largest
// value: each fills in what it knows and leaves zeros elsewhere.

#include "runtime/worker/workload/llm/rows.h"

#include <ATen/Parallel.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <numeric>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/alike.h"
#include "runtime/data/images/sampler.h"

namespace expc::workload::llm {
namespace {

unsigned threads() { return unsigned(at::get_num_threads()); }

/// The options with which text::TokenRows opens what the parameters name.
text::TokenRowsOptions rowsOptions(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                   const std::string& model_folder, uint64_t seed) {
  text::TokenRowsOptions options{.data = {.kind = parameters.kind,
                                          .pairs = parameters.method == Method::Dpo,
                                          .row_limit = parameters.row_limit,
                                          .part_column = parameters.validation.column},
                                 .synthetic = parameters.data.synthetic,
                                 .longest = parameters.data.longest,
                                 .seed = seed,
                                 .tokenizer = tokenizerPath(parameters, root),
                                 .model_folder = model_folder,
                                 .vocabulary = vocabulary,
                                 .max_length = parameters.max_length};
  if (!parameters.data.path.empty()) options.data.path = std::filesystem::path(root) / parameters.data.path;
  return options;
}

/// The facts about all rows that every rank needs before training.
struct Survey {
  std::vector<int64_t> learning;      // rows of which something is learnt, in the file's order
  std::vector<text::TextSize> sizes;  // sizes of those rows; only for packing
  int64_t cut = 0, alike = 0;         // texts that were cut; pairs left out because both texts are equal
};

/// Finds these facts. Each rank makes tokens of its part of the rows whose length alone does not tell; for packing
/// that is every row, because packs are laid out by exact sizes.
Expected<Survey> surveyed(MadeRows& rows, bool packing, const Ranks& ranks) {
  // One row's values in the table that the ranks exchange.
  enum { Learns, Alike, Cut, Tokens, Weight, Values };
  std::vector<int64_t> asked, own;
  for (int64_t number = 0; number < rows.source().count(); ++number)
    if (packing || !rows.source().isShort(number)) asked.push_back(number);
  for (auto at = size_t(ranks.rank); at < asked.size(); at += size_t(ranks.count)) own.push_back(asked[at]);
  TRY(rows.make(own));
  // One group of values per asked row; this rank fills those of its own rows.
  std::vector<double> values(asked.size() * Values);
  for (size_t i = 0; i < own.size(); ++i) {
    const text::RowSize size = rows.row(own[i]).size();
    double* of = &values[(size_t(ranks.rank) + i * size_t(ranks.count)) * Values];
    of[Learns] = size.learns();
    of[Alike] = size.alike && size.chosen.learnt > 0;
    of[Cut] = size.chosen.cut + size.rejected.cut;
    of[Tokens] = double(size.chosen.tokens);
    of[Weight] = size.chosen.weight;
  }
  values = ranks.largestOf(std::move(values));
  Survey survey;
  size_t next = 0;
  // Merge in the file's order: rows that were not asked about are short and thus have something to learn.
  for (int64_t number = 0; number < rows.source().count(); ++number) {
    const bool known = next == asked.size() || asked[next] != number;
    const double* of = known ? nullptr : &values[next++ * Values];
    if (!known) survey.cut += int64_t(of[Cut]);
    if (!known) survey.alike += int64_t(of[Alike]);
    if (!known && of[Learns] == 0) continue;
    survey.learning.push_back(number);
    if (packing) survey.sizes.push_back({.tokens = int64_t(of[Tokens]), .weight = of[Weight]});
  }
  return survey;
}

/// A note on so many things of all.
plan::Note share(plan::Note::Code code, int64_t count, int64_t all, const char* metric = "", const char* what = "") {
  return {code, metric, double(count), what, double(all)};
}

/// Notes what is left out and cut; an error if nothing is left. `what` is the parameter that names the rows.
Error describe(const std::string& what, const text::TokenRows& rows, const Survey& survey, int64_t max_length,
               std::vector<plan::Note>& notes) {
  const int64_t all = rows.count(), kept = std::ssize(survey.learning);
  const int64_t without = all - kept - survey.alike;  // rows of which no part of the answer is left
  if (kept == 0 && survey.alike > 0)
    return failure(
        "{}: in all {} pairs of {} the two answers are equal within max_length = {} tokens, so there is nothing to "
        "prefer: use other pairs, or raise max_length if they differ later",
        what, all, rows.origin(), max_length);
  if (kept == 0) return text::nothingToLearn(what, all, rows.origin(), max_length);
  if (survey.cut > 0) notes.push_back(share(plan::Note::Truncated, survey.cut, rows.pairs() ? 2 * all : all));
  if (without > 0) notes.push_back(share(plan::Note::Unlearnt, without, all));
  if (survey.alike > 0) notes.push_back(share(plan::Note::EqualPairs, survey.alike, all));
  return Error::success();
}

/// The rows of one source, surveyed.
struct Source {
  std::shared_ptr<MadeRows> rows;
  Survey survey;
};

/// Opens and surveys rows. A collective.
/// @param known the tokenizer, if it is open already
Expected<Source> openSource(const text::TokenRowsOptions& options, bool packing, const Ranks& ranks,
                            std::vector<plan::Note>& notes, std::shared_ptr<const text::Tokenizer> known = nullptr) {
  auto opened = TRY(text::TokenRows::open(options, std::move(known)));
  const auto rows = std::make_shared<MadeRows>(std::move(opened));
  std::vector<plan::Note> own(rows->source().notes().begin(), rows->source().notes().end());
  auto survey = TRY(surveyed(*rows, packing, ranks));
  TRY(describe(options.parameter, rows->source(), survey, options.max_length, own));
  // The second source has some notes in common with the first, such as those about the tokenizer.
  for (plan::Note& note : own)
    if (!is_contained(notes, note)) notes.push_back(std::move(note));
  return Source{rows, std::move(survey)};
}

/// The elements of `from` at `places`; empty if `from` is.
template <typename Value>
std::vector<Value> at(const std::vector<Value>& from, const std::vector<int64_t>& places) {
  std::vector<Value> result;
  if (!from.empty())
    for (const int64_t place : places) result.push_back(from[place]);
  return result;
}

}  // namespace

Error MadeRows::make(ArrayRef<int64_t> numbers) {
  std::vector<int64_t> missing;
  for (const int64_t number : numbers)
    if (!made_[number]) missing.push_back(number);
  auto made = TRY(rows_.rows(missing, threads()));
  for (size_t i = 0; i < missing.size(); ++i) made_[missing[i]] = std::move(made[i]);
  return Error::success();
}

Items::Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers, bool by_rows)
    : kind_(rows->source().pairs() ? Kind::Pairs : Kind::Rows),
      rows_(std::move(rows)),
      numbers_(std::move(numbers)),
      bounds_(numbers_.size() + 1),
      weights_(numbers_.size()),
      by_rows_(by_rows || kind_ == Kind::Pairs) {
  std::iota(bounds_.begin(), bounds_.end(), 0);
}

Items::Items(std::shared_ptr<MadeRows> rows, std::vector<int64_t> numbers, ArrayRef<text::TextSize> sizes, int64_t size)
    : kind_(Kind::Packs), rows_(std::move(rows)), numbers_(std::move(numbers)), pack_size_(size) {
  std::vector<int64_t> lengths;
  for (const text::TextSize& of : sizes) lengths.push_back(of.tokens);
  bounds_ = text::packBounds(lengths, size);
  // Sizes tell each pack's weight, so packs need no tell().
  weights_.resize(bounds_.size() - 1);
  for (size_t item = 0; item < weights_.size(); ++item)
    for (size_t i = bounds_[item]; i < bounds_[item + 1]; ++i) weights_[item] += sizes[i].weight;
}

ArrayRef<int64_t> Items::rowsOf(int64_t item) const {
  const auto at = size_t(item);
  return ArrayRef<int64_t>(numbers_).slice(bounds_[at], bounds_[at + 1] - bounds_[at]);
}

Error Items::make(ArrayRef<int64_t> items) {
  std::vector<int64_t> numbers;
  for (const int64_t item : items) {
    const auto rows = rowsOf(item);
    llvm::append_range(numbers, rows);
  }
  TRY(rows_->make(numbers));
  // A pack's weight is known from the sizes; rows and pairs learn theirs now.
  if (kind_ == Kind::Packs) return Error::success();
  for (const int64_t item : items) {
    const text::TokenRow& row = rows_->row(rowsOf(item)[0]);
    weights_[item] = by_rows_ ? row.weight : sizeOf(row.chosen).weight;
  }
  return Error::success();
}

// An unknown value is 0, so the largest over the ranks is the value of the rank that knows it.
void Items::tell(const Ranks& ranks) { weights_ = ranks.largestOf(std::move(weights_)); }

double Items::weight(ArrayRef<int64_t> items) const {
  double sum = 0;
  for (const int64_t item : items) sum += weights_[item];
  return sum;
}

std::vector<double> Items::lengths(int64_t item) const {
  std::vector<double> result;
  for (const int64_t number : rowsOf(item)) {
    const text::TokenRow& row = rows_->row(number);
    result.push_back(double(row.chosen.size()));
    if (row.rejected) result.push_back(double(row.rejected->size()));
  }
  return result;
}

double Items::tokens(int64_t item) const {
  const auto all = lengths(item);
  return std::accumulate(all.begin(), all.end(), 0.0);
}

double Items::longest(int64_t item) const { return std::ranges::max(lengths(item)); }

double Items::seen(int64_t item) const {
  double seen = 0;
  for (const double length : lengths(item)) seen += length * (length + 1) / 2;
  return seen;
}

text::Pack Items::pack(int64_t item) const {
  // Packs have only single texts, never pairs (readParameters).
  std::vector<const text::Sample*> samples;
  for (const int64_t number : rowsOf(item)) samples.push_back(&rows_->row(number).chosen);
  return text::packOf(samples, size_t(pack_size_));
}

text::TokenBatch Items::batch(ArrayRef<int64_t> items) const {
  if (kind_ == Kind::Packs) {
    std::vector<text::Pack> packs;
    for (const int64_t item : items) packs.push_back(pack(item));
    std::vector<const text::Pack*> chosen;
    for (const text::Pack& each : packs) chosen.push_back(&each);
    return text::collatePacks(chosen);
  }
  // Rows and pairs are padded to the longest in the batch.
  std::vector<const text::Sample*> chosen, rejected;
  for (const int64_t item : items) {
    const text::TokenRow& row = rows_->row(rowsOf(item)[0]);
    chosen.push_back(&row.chosen);
    if (row.rejected) rejected.push_back(&*row.rejected);
  }
  const text::Token pad = rows_->source().pad();
  text::TokenBatch batch =
      kind_ == Kind::Pairs ? text::collatePairs(chosen, rejected, pad) : text::collate(chosen, pad);
  if (!by_rows_ || llvm::all_of(items, [&](int64_t item) { return weights_[item] == 1; })) return batch;
  for (const int64_t item : items) batch.row_weights.push_back(weights_[item]);
  return batch;
}

std::string tokenizerPath(const Parameters& parameters, const std::string& root) {
  return parameters.tokenizer.empty() ? "" : (std::filesystem::path(root) / parameters.tokenizer).string();
}

Expected<Questions> openQuestions(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                                  const std::string& model_folder, std::shared_ptr<const text::Tokenizer> known) {
  const text::TokenRowsOptions options =
      text::apartFrom(rowsOptions(parameters, root, vocabulary, model_folder, 0),
                      std::filesystem::path(root) / parameters.questions, /*questions=*/true);
  if (!known) {
    std::vector<std::string> notes;  // those of the rows that are trained on
    known = TRY(text::openTokenizer(options, notes));
  }
  auto questions = TRY(text::readQuestions(options, *known));
  return Questions{std::move(questions), std::move(known)};
}

int64_t heldOutOf(int64_t rows) { return std::clamp<int64_t>(rows / 10, 1, kMostHeldOut); }

namespace {

/// The places of a source's learning rows that are trained on and held out, each in the file's order.
struct Split {
  std::vector<int64_t> train, held_out;
};

/// Splits by the column of parts, or by the seed, so that left-out rows change neither sizes nor the draw.
Expected<Split> split(const Source& source, const ValidationChoice& validation, uint64_t seed, bool hold_out) {
  const auto count = std::ssize(source.survey.learning);
  const std::string& origin = source.rows->source().origin();
  Split result;
  if (!validation.column.empty()) {
    for (int64_t place = 0; place < count; ++place) {
      const bool apart = source.rows->source().isHeldOut(source.survey.learning[place]);
      (apart ? result.held_out : result.train).push_back(place);
    }
    const auto held_out = hold_out ? int64_t(result.held_out.size()) : 1;
    TRY(text::checkParts(validation.column, origin, int64_t(result.train.size()), held_out));
    return result;
  }
  result.train.resize(count);
  std::iota(result.train.begin(), result.train.end(), 0);
  if (!hold_out || !validation.path.empty()) return result;
  if (count < 2)
    return failure("data: {} has one row to learn from, but a quality trial also needs one for evaluation: add rows",
                   origin);
  result.train = data::randomPermutation(count, seed);
  const auto first = result.train.end() - heldOutOf(count);
  result.held_out.assign(first, result.train.end());
  result.train.erase(first, result.train.end());
  // Sorted back into the file's order, so that packs and messages do not depend on the permutation.
  std::ranges::sort(result.train);
  std::ranges::sort(result.held_out);
  return result;
}

/// Notes how many held-out rows are also trained on: there the evaluation measures memory. Compares digests of texts.
void noteCopies(const Source& train, const std::vector<int64_t>& trained, const Source& held_out,
                const std::vector<int64_t>& apart, std::vector<plan::Note>& notes) {
  constexpr const char* kHeldOut = "held-out row";
  const auto copies = [&](bool loosely) {
    const auto digests = [&](const Source& source, const std::vector<int64_t>& places) {
      std::vector<uint64_t> all;
      for (const int64_t number : at(source.survey.learning, places))
        all.push_back(source.rows->source().digest(number, loosely));
      return all;
    };
    return data::countAmong(digests(held_out, apart), digests(train, trained));
  };
  const int64_t alike = copies(false), loosely = copies(true) - alike;
  if (alike > 0) notes.push_back(share(plan::Note::Leaked, alike, std::ssize(apart), "evaluation_loss", kHeldOut));
  if (loosely > 0) notes.push_back(share(plan::Note::NearlyLeaked, loosely, std::ssize(apart), "", kHeldOut));
}

}  // namespace

/// Opens, surveys, splits, and packs; each step's remarks go to the notes.
Expected<RowSets> openRows(const Parameters& parameters, const std::string& root, int64_t vocabulary,
                           const std::string& model_folder, uint64_t seed, bool hold_out, const Ranks& ranks) {
  const text::TokenRowsOptions options = rowsOptions(parameters, root, vocabulary, model_folder, seed);
  const bool made_up = options.data.path.empty();
  std::vector<plan::Note> notes;
  auto data = TRY(openSource(options, parameters.packing, ranks, notes));
  auto parts = TRY(split(data, parameters.validation, seed, hold_out));
  const std::string origin = data.rows->source().origin();
  const auto& tokenizer = data.rows->source().tokenizer();
  // Rows of the data are evaluated, or all rows of other files.
  Source apart = data;
  if (hold_out && !parameters.validation.path.empty()) {
    const auto others =
        text::apartFrom(options, std::filesystem::path(root) / parameters.validation.path, /*questions=*/false);
    apart = TRY(openSource(others, /*packing=*/false, ranks, notes, tokenizer));
    parts.held_out.resize(apart.survey.learning.size());
    std::iota(parts.held_out.begin(), parts.held_out.end(), 0);
    notes.push_back(fmt::format("{} rows of {} are evaluated", parts.held_out.size(), apart.rows->source().origin()));
  } else if (!parts.held_out.empty()) {
    notes.push_back(share(plan::Note::HeldOut, std::ssize(parts.held_out), std::ssize(data.survey.learning)));
  }
  if (hold_out && !made_up) noteCopies(data, parts.train, apart, parts.held_out, notes);
  // Held-out rows are never packed: evaluation weighs single rows.
  Items held_out(apart.rows, at(apart.survey.learning, hold_out ? parts.held_out : std::vector<int64_t>()),
                 parameters.per_row);
  std::vector<int64_t> numbers = at(data.survey.learning, parts.train);
  if (!parameters.packing)
    return RowSets{Items(data.rows, std::move(numbers), parameters.per_row), std::move(held_out), origin,
                   std::move(notes), tokenizer};
  Items packs(data.rows, std::move(numbers), at(data.survey.sizes, parts.train), parameters.max_length);
  notes.push_back(
      fmt::format("{} rows are {} packs of {} tokens", parts.train.size(), packs.count(), parameters.max_length));
  return RowSets{std::move(packs), std::move(held_out), origin, std::move(notes), tokenizer};
}

Order::Order(int64_t count, int64_t ranks, int64_t batch, int64_t accumulation, uint64_t seed)
    : count_(count), ranks_(ranks), batch_(batch), accumulation_(accumulation), seed_(seed) {}

const int64_t* Order::ofStep(int64_t step) {
  assert(stepsPerEpoch() > 0 && "enough items for a step");
  const int64_t epoch = step / stepsPerEpoch();
  if (epoch != epoch_) {
    // Made once per epoch; passes ask in order.
    order_ = data::randomPermutation(count_, seed_ + uint64_t(epoch));
    epoch_ = epoch;
  }
  return order_.data() + step % stepsPerEpoch() * itemsPerStep();
}

std::vector<int64_t> Order::items(int64_t step, int64_t pass, int64_t rank) {
  const int64_t* of_pass = ofStep(step) + pass * batch_ * ranks_;
  std::vector<int64_t> result;
  result.reserve(batch_);
  for (int64_t i = 0; i < batch_; ++i) result.push_back(of_pass[i * ranks_ + rank]);
  return result;
}

}  // namespace expc::workload::llm
