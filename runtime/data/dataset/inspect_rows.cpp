// Reads all rows, encodes them on all cores, and compares their texts by digests. Each check adds its problem by
// itself, in the order of their effect on a result.

#include "runtime/data/dataset/inspect_rows.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/data/text/characters.h"
#include "runtime/data/text/questions.h"
#include "runtime/stats/estimators.h"

namespace expc::dataset {
namespace {

/// The facts about one row.
struct RowFacts {
  text::RowSize whole;   // before cutting
  int64_t kept = 0;      // tokens after cutting, of both texts
  int64_t learnt = 0;    // labels that are learnt after cutting, of both texts
  bool teaches = false;  // something is left to learn in each text
  bool cut = false;
  bool empty = false;   // an answer without text
  std::string special;  // a special token's name that stands in the text
  std::map<text::Role, RoleShare> roles;
  WeightRange weights;
  uint64_t exact = 0, normal = 0;  // digests of the texts, as they are and normalised
};

/// A file of rows, read as far as that is possible.
struct Part {
  std::string origin;
  std::vector<int64_t> numbers;  // of the rows that were read
  std::vector<RowFacts> facts;   // parallel to `numbers`
};

/// The number of labels that are learnt if a text is cut to `most` tokens; 0: not cut. The last token of a cut text is
/// not learnt.
int64_t learntWithin(const text::Sample& sample, size_t most) {
  const size_t end = most > 0 && sample.size() > most ? most - 1 : sample.size();
  return std::count_if(sample.labels.begin() + 1, sample.labels.begin() + ptrdiff_t(end),
                       [](text::Token label) { return label != text::kMasked; });
}

/// The name of a special token that stands in a conversation as text; "" if none does.
std::string specialIn(const text::Conversation& conversation, const text::Tokenizer& tokenizer) {
  for (const text::Message& message : conversation)
    for (const std::string& part : message.parts) {
      if (part.find("<|") == std::string::npos) continue;
      for (const auto& [name, token] : tokenizer.special().all)
        if (part.find(name) != std::string::npos) return name;
    }
  return "";
}

/// Adds one conversation of a row to its facts; `whole` is its encoding before cutting.
Error addText(RowFacts& facts, const text::Tokenizer& tokenizer, const text::Conversation& conversation,
              const text::Sample& whole, size_t most) {
  for (const text::Message& message : conversation) {
    auto alone = TRY(text::makeSample(tokenizer, {message}, 0));
    RoleShare& share = facts.roles[message.role];
    ++share.messages;
    share.tokens += std::ssize(alone) - 2;  // without begin_of_text and end_of_text
    const bool says = std::ranges::any_of(
        message.parts, [](const std::string& part) { return !text::strip(json::fixUTF8(part)).empty(); });
    facts.empty |= !says && !message.masked && message.role == text::Role::Assistant;
  }
  facts.cut |= most > 0 && whole.size() > most;
  facts.kept += int64_t(most > 0 ? std::min(most, whole.size()) : whole.size());
  const int64_t learnt = learntWithin(whole, most);
  facts.learnt += learnt;
  facts.teaches &= learnt > 0;
  if (facts.special.empty()) facts.special = specialIn(conversation, tokenizer);
  return Error::success();
}

WeightRange weightsOf(const text::Example& example) {
  if (!example.rejected.empty()) return {example.weight, example.weight};
  std::vector<double> weights;
  for (const text::Message& message : example.chosen)
    if (!message.masked) weights.push_back(message.weight);
  if (weights.empty()) return {};
  const auto [least, most] = std::ranges::minmax(weights);
  return {least, most};
}

/// Collects the facts of one row.
Expected<RowFacts> factsOf(const text::TokenRows& rows, const text::Tokenizer& tokenizer, int64_t number, size_t most) {
  const text::Example& example = rows.example(number);
  auto row = TRY(rows.row(number));
  RowFacts facts;
  facts.whole = row.size();
  facts.teaches = true;
  facts.weights = weightsOf(example);
  TRY(addText(facts, tokenizer, example.chosen, row.chosen, most));
  if (row.rejected) TRY(addText(facts, tokenizer, example.rejected, *row.rejected, most));
  facts.exact = rows.digest(number);
  facts.normal = rows.digest(number, /*loosely=*/true);
  return facts;
}

/// The work of inspectRows().
class RowsInspection {
 public:
  RowsInspection(const RowsSource& source, unsigned threads, const base::Tick& tick)
      : source_(source), threads_(threads), tick_(tick) {}

  Expected<RowsReport> run();

 private:
  /// Reads and encodes a file or folder; nothing after a problem. The error is one of `tick`. `origin` becomes the
  /// file's name.
  Expected<std::optional<Part>> read(const text::DatasetOptions& options, std::string& origin);
  /// Adds the problems that single rows of a file have.
  void judgeRows(const Part& part, bool held_out);
  /// Adds the problem that rows of another file, held out or asked, are trained on.
  void judgeLeaks(const Part& train, const Part& apart, const char* what);
  /// Adds the problem that rows repeat earlier ones.
  void judgeRepeats(const Part& train);
  /// Adds a problem for rows that equal others of `train`, and one for rows that equal others but for case and white
  /// space.
  /// @param words make the text from that difference and the row that the first of them equals
  void judgeCopies(const Part& train, const Part& judged,
                   function_ref<std::string(const char* how, int64_t row)> words);
  /// Adds notes on the set as a whole.
  void note(const Part& train);
  void add(Severity severity, std::string text, std::string file = "", std::vector<int64_t> rows = {}) {
    report_.problems.push_back({severity, std::move(text), std::move(file), std::move(rows)});
  }

  const RowsSource& source_;
  const unsigned threads_;
  const base::Tick& tick_;
  std::shared_ptr<const text::Tokenizer> tokenizer_;
  /// The first training row that has a digest, RowFacts::exact or RowFacts::normal.
  std::unordered_map<uint64_t, int64_t> exact_, normal_;
  RowsReport report_;
};

Expected<std::optional<Part>> RowsInspection::read(const text::DatasetOptions& options, std::string& origin) {
  origin = options.path;
  const auto refuse = [&](Error error) {
    add(Severity::Error, toString(std::move(error)), options.path);
    return std::optional<Part>();
  };
  auto reader = text::openRows(options);
  if (!reader) return refuse(reader.takeError());
  std::vector<text::RowFault> faults;
  auto dataset = text::readDataset(**reader, options, &faults);
  // Each faulty row is a problem of its own, up to a number that somebody may read.
  constexpr size_t kListed = 50;
  for (size_t i = 0; i < std::min(kListed, faults.size()); ++i)
    add(Severity::Error, faults[i].why, (*reader)->name(), {faults[i].row});
  if (faults.size() > kListed)
    add(Severity::Error, fmt::format("{} more rows are refused", faults.size() - kListed), (*reader)->name());
  if (!dataset) return refuse(dataset.takeError());
  origin = (*reader)->name();
  Part part{origin, {}, {}};
  auto fault = faults.begin();
  const auto count = std::ssize(dataset->examples);
  for (int64_t number = 1; std::ssize(part.numbers) < count; ++number) {
    fault = std::find_if(fault, faults.end(), [&](const text::RowFault& one) { return one.row >= number; });
    if (fault == faults.end() || fault->row != number) part.numbers.push_back(number);
  }
  if (count == 0) return part;
  part.facts.resize(part.numbers.size());
  const text::TokenRows rows(tokenizer_, std::move(*dataset), 0);
  for (const std::string& text : rows.notes()) add(Severity::Note, text, origin);
  const auto most = size_t(source_.rows.max_length);
  // A row has only two errors here: a pattern of a tokenizer.json gives up, or the row is no question.
  std::vector<std::string> failed(part.numbers.size());
  const auto work = [&](int64_t i) -> Error {
    if (auto error = factsOf(rows, *tokenizer_, i, most).moveInto(part.facts[i])) {
      failed[i] = toString(std::move(error));
    } else if (options.choices) {
      auto question = text::questionOf(*tokenizer_, rows.example(i), most);
      if (!question) failed[i] = "not a question: " + toString(question.takeError());
    }
    return Error::success();
  };
  TRY(base::forEach(count, threads_, work, tick_));
  for (size_t i = 0; i < failed.size(); ++i)
    if (!failed[i].empty()) add(Severity::Error, failed[i], part.origin, {part.numbers[i]});
  return part;
}

void RowsInspection::judgeRows(const Part& part, bool held_out) {
  const char* loses = held_out ? "evaluation" : "training";
  const auto warn = [&](function_ref<bool(const RowFacts&)> has, const std::string& text,
                        Severity severity = Severity::Warning) {
    std::vector<int64_t> rows;
    for (size_t i = 0; i < part.facts.size(); ++i)
      if (has(part.facts[i])) rows.push_back(part.numbers[i]);
    if (!rows.empty()) add(severity, text, part.origin, std::move(rows));
  };
  warn([](const RowFacts& row) { return row.whole.pair && row.whole.alike; },
       fmt::format("both answers of the pair are equal, so {} skips it", loses));
  warn([](const RowFacts& row) { return row.whole.learns() && !row.teaches; },
       fmt::format("nothing of the answer is left within {} tokens, so {} skips the row", source_.rows.max_length,
                   loses));
  warn([](const RowFacts& row) { return !row.whole.learns() && !row.whole.alike; },
       fmt::format("the row says that nothing of it is learnt, so {} skips it", loses), Severity::Note);
  warn([](const RowFacts& row) { return row.empty; }, "an answer is empty: the model learns to say nothing");
  warn([](const RowFacts& row) { return row.cut && row.teaches; },
       fmt::format("longer than {} tokens: its end is cut off", source_.rows.max_length));
  const auto has_special = [](const RowFacts& row) { return !row.special.empty(); };
  const auto special = std::ranges::find_if(part.facts, has_special);
  if (special != part.facts.end())
    warn(has_special,
         fmt::format("the text holds the name of a special token, {}: it is encoded as plain characters",
                     special->special),
         Severity::Note);
}

void RowsInspection::judgeCopies(const Part& train, const Part& judged,
                                 function_ref<std::string(const char*, int64_t)> words) {
  struct Copies {
    const char* how;
    std::vector<int64_t> rows = {};
    int64_t first = 0;  // the training row that the first of them equals
  } same{""}, alike{"but for case and white space "};
  for (size_t i = 0; i < judged.facts.size(); ++i) {
    const auto add_if = [&](const auto& known, uint64_t digest, Copies& copies) {
      const int64_t* at = entryOf(known, digest);
      if (!at || (&judged == &train && *at == judged.numbers[i])) return false;
      if (copies.rows.empty()) copies.first = *at;
      copies.rows.push_back(judged.numbers[i]);
      return true;
    };
    if (!add_if(exact_, judged.facts[i].exact, same)) add_if(normal_, judged.facts[i].normal, alike);
  }
  for (Copies* copies : {&same, &alike})
    if (!copies->rows.empty())
      add(Severity::Warning, words(copies->how, copies->first), judged.origin, std::move(copies->rows));
}

void RowsInspection::judgeLeaks(const Part& train, const Part& apart, const char* what) {
  judgeCopies(train, apart, [&](const char* how, int64_t row) {
    return fmt::format("{} and {}trained on (the first as row {} of {}): evaluation there measures memorisation", what,
                       how, row, train.origin);
  });
}

void RowsInspection::judgeRepeats(const Part& train) {
  const char* effect =
      source_.validation.empty() ? "; rows held out at random may then have a copy among those trained on" : "";
  judgeCopies(train, train, [&](const char* how, int64_t row) {
    return fmt::format("repeats an earlier row {}(the first one row {}){}", how, row, effect);
  });
}

void RowsInspection::note(const Part& train) {
  if (train.facts.empty()) return;
  if (std::ranges::none_of(train.facts, &RowFacts::teaches))
    add(Severity::Error,
        fmt::format("none of the {} rows has something to learn within {} tokens", train.facts.size(),
                    source_.rows.max_length),
        train.origin);
  const double usual = medianOf(report_.lengths);
  const int64_t longest = report_.lengths[report_.longest()];
  if (source_.rows.max_length == 0 && double(longest) > 4 * usual)
    add(Severity::Note,
        fmt::format("the longest row has {} tokens, the median {}: a batch with it is padded to its length", longest,
                    usual),
        train.origin, {train.numbers[report_.longest()]});
}

Expected<RowsReport> RowsInspection::run() {
  std::vector<std::string> notes;
  auto tokenizer = text::openTokenizer(source_.rows, notes);
  // Faults of rows are worth knowing without the tokenizer, too; bytes stand in for it.
  if (!tokenizer) add(Severity::Error, toString(tokenizer.takeError()));
  for (std::string& text : notes) add(Severity::Warning, std::move(text));
  tokenizer_ = tokenizer ? std::move(*tokenizer) : std::make_shared<const text::Tokenizer>(text::Tokenizer::bytes());
  report_.tokenizer = tokenizer_->origin();
  report_.pairs = source_.rows.data.pairs;
  text::DatasetOptions all = source_.rows.data;
  all.part_column.clear();  // rows of every part are inspected
  auto train = TRY(read(all, report_.origin));
  for (size_t i = 0; train && i < train->facts.size(); ++i) {
    exact_.try_emplace(train->facts[i].exact, train->numbers[i]);
    normal_.try_emplace(train->facts[i].normal, train->numbers[i]);
  }
  std::optional<Part> held_out, asked;
  if (!source_.validation.empty())
    held_out = TRY(read(text::apartFrom(source_.rows, source_.validation, false).data, report_.validation));
  if (!source_.questions.empty())
    asked = TRY(read(text::apartFrom(source_.rows, source_.questions, true).data, report_.questions));
  if (asked && train) judgeLeaks(*train, *asked, "asked");
  if (train) {
    for (const RowFacts& row : train->facts) {
      report_.lengths.push_back(std::max(row.whole.chosen.tokens, row.whole.rejected.tokens));
      report_.tokens += row.kept;
      report_.learnt += row.learnt;
      if (!row.weights.plain() && row.teaches) {
        WeightRange& all = report_.weights;
        all = report_.weighted++ == 0
                  ? row.weights
                  : WeightRange{std::min(all.least, row.weights.least), std::max(all.most, row.weights.most)};
      }
      for (const auto& [role, share] : row.roles) {
        report_.roles[role].messages += share.messages;
        report_.roles[role].tokens += share.tokens;
      }
    }
    report_.numbers = train->numbers;
    if (held_out) judgeLeaks(*train, *held_out, "held out");
    judgeRows(*train, false);
    judgeRepeats(*train);
    note(*train);
  }
  if (held_out) {
    report_.held_out = std::ssize(held_out->facts);
    judgeRows(*held_out, true);
  }
  if (asked) report_.asked = int64_t(asked->facts.size());
  sortWorstFirst(report_.problems);
  return std::move(report_);
}

}  // namespace

double medianOf(const std::vector<int64_t>& values) {
  return *stats::medianOf(std::vector<double>(values.begin(), values.end()));
}

size_t RowsReport::longest() const { return size_t(std::ranges::max_element(lengths) - lengths.begin()); }

Expected<RowsReport> inspectRows(const RowsSource& source, unsigned threads, const base::Tick& tick) {
  return RowsInspection(source, threads, tick).run();
}

Error checkRows(const RowsSource& source, bool evaluates, unsigned threads, std::vector<std::string>& in_part) {
  const auto opened = [&](const text::TokenRowsOptions& options, std::shared_ptr<const text::Tokenizer> known) {
    auto rows = text::TokenRows::open(options, std::move(known));
    if (rows && rows->inPart()) in_part.push_back(fmt::format("{} after row {}", rows->origin(), rows->count()));
    return rows;
  };
  auto rows = TRY(opened(source.rows, nullptr));
  if (!evaluates) return Error::success();
  if (const std::string& column = source.rows.data.part_column; !column.empty() && !rows.inPart()) {
    int64_t apart = 0;
    for (int64_t number = 0; number < rows.count(); ++number) apart += rows.isHeldOut(number);
    TRY(text::checkParts(column, rows.origin(), rows.count() - apart, apart));
  }
  if (!source.validation.empty()) {
    auto held_out = TRY(opened(text::apartFrom(source.rows, source.validation, false), rows.tokenizer()));
    auto lengths = TRY(text::rowLengths(held_out, threads));
    if (lengths.count() == 0 && !held_out.inPart())
      return text::nothingToLearn("validation", held_out.count(), held_out.origin(), source.rows.max_length);
  }
  if (source.questions.empty()) return Error::success();
  return text::readQuestions(text::apartFrom(source.rows, source.questions, true), *rows.tokenizer()).takeError();
}

std::vector<LengthBin> binsOf(const std::vector<int64_t>& lengths) {
  if (lengths.empty()) return {};
  const auto [low, high] = std::ranges::minmax(lengths);
  // Powers of two from the one at or below the shortest to the one above the longest.
  const auto begin = int64_t(std::bit_floor(uint64_t(std::max<int64_t>(1, low))));
  constexpr int64_t kMostBins = 16;
  int64_t octaves = 0;
  for (int64_t at = begin; at <= high; at *= 2) ++octaves;
  const auto fits = uint64_t(std::clamp<int64_t>(kMostBins / octaves, 1, std::min<int64_t>(4, begin)));
  const auto parts = int64_t(std::bit_floor(fits));
  std::vector<LengthBin> bins;
  for (int64_t at = begin; at <= high; at *= 2)
    for (int64_t part = 0; part < parts; ++part)
      bins.push_back({at + at * part / parts, at + at * (part + 1) / parts - 1, 0});
  for (const int64_t length : lengths) {
    const auto bin = std::ranges::find_if(bins, [&](const LengthBin& one) { return length <= one.last; });
    ++bin->rows;
  }
  // Empty bins at the ends say nothing.
  while (bins.back().rows == 0) bins.pop_back();
  while (bins.front().rows == 0) bins.erase(bins.begin());
  return bins;
}

}  // namespace expc::dataset
