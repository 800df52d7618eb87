// Rows by number: from a data set, encoded on request, or made up. Made-up rows are drawn from a generator seeded with
// seed and row number, so that any thread can make any row, and two machines make the same.

#include "runtime/data/text/token_rows.h"

#include <llvm/Support/JSON.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <numeric>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/data/text/characters.h"

namespace expc::text {
namespace {

/// An upper bound on the tokens of a message besides its text: header, role, two line ends, end of turn.
constexpr size_t kAroundMessage = 16;

/// Encodes rows with several threads and keeps the value that `take` makes of each.
template <typename Take, typename Value = std::invoke_result_t<Take, TokenRow>>
Expected<std::vector<Value>> ofRows(const TokenRows& rows, ArrayRef<int64_t> numbers, unsigned threads, Take take) {
  std::vector<Value> result(numbers.size());
  const auto work = [&](int64_t i) -> Error {
    auto made = TRY(rows.row(numbers[i]));
    result[i] = take(std::move(made));
    return Error::success();
  };
  TRY(base::forEach(std::ssize(numbers), threads, work));
  return result;
}

/// The sum of the `batch` largest values.
int64_t most(std::vector<int64_t> values, int64_t batch) {
  const auto taken = std::min<ptrdiff_t>(batch, std::ssize(values));
  std::nth_element(values.begin(), values.begin() + taken, values.end(), std::greater<>());
  return std::accumulate(values.begin(), values.begin() + taken, int64_t{0});
}

/// The number of tokens up to the last one that is learnt: all that the loss of a text depends on.
size_t learntEnd(const Sample& sample) {
  size_t end = sample.size();
  while (end > 0 && sample.labels[end - 1] == kMasked) --end;
  return end;
}

/// Whether two texts give the same loss: the same tokens and labels up to the last one that is learnt.
bool alike(const Sample& a, const Sample& b) {
  const size_t end = learntEnd(a);
  const auto equal = [end](const std::vector<Token>& left, const std::vector<Token>& right) {
    return std::equal(left.begin(), left.begin() + ptrdiff_t(end), right.begin());
  };
  return end == learntEnd(b) && equal(a.tokens, b.tokens) && equal(a.labels, b.labels);
}

/// The messages of a conversation up to the last one that is learnt, as they are encoded. Two conversations with
/// different results here differ in their tokens.
std::vector<std::string> saidIn(const Conversation& conversation) {
  std::vector<std::string> said;
  size_t learnt = 0;
  for (const Message& message : conversation) {
    std::string text = nameOf(message.role);
    for (const std::string& part : message.parts) text += strip(json::isUTF8(part) ? part : json::fixUTF8(part)).str();
    said.push_back(std::move(text));
    if (!message.masked) learnt = said.size();
  }
  said.resize(learnt);
  return said;
}

/// A value of each row; for pairs the sum of both texts.
std::vector<int64_t> ofEach(const std::vector<RowSize>& rows, int64_t TextSize::* what) {
  std::vector<int64_t> values;
  for (const RowSize& row : rows) values.push_back(row.chosen.*what + row.rejected.*what);
  return values;
}

/// The measures of a template's rows.
struct Shape {
  /// Tokens of a row: the mean over 500 rows in the reference study (59,330, 28,683 and 83,544 tokens in all).
  double mean;
  double prompt;  // the share of a row that is not learnt
};

/// The measures of a template's rows. Pairs of instruct have a prompt that is not learnt, unlike its single rows.
Shape shapeOf(Template kind, bool pairs) {
  constexpr Shape kShapes[] = {
      {59330.0 / 500, 0.0}, {28683.0 / 500, 0.5}, {83544.0 / 500, 0.8}, {83544.0 / 500, 0.8}, {83544.0 / 500, 0.8}};
  return pairs && kind == Template::Instruct ? Shape{kShapes[0].mean, 0.5} : kShapes[size_t(kind)];
}

/// The distribution of lengths, as parts of the mean: most in a body, one in fifty far above it, since the longest rows
/// of a set decide how much memory it takes. The real distribution of the reference sets is not published.
constexpr double kShortest = 0.5, kBody = 1.4, kLongest = 5.5, kLongShare = 0.02;

/// The quantile function of that distribution: linear in the body and in the tail.
double partOfMean(double share) {
  return share < 1 - kLongShare ? kShortest + (kBody - kShortest) * share / (1 - kLongShare)
                                : kLongest - (kLongest - kBody) * (1 - share) / kLongShare;
}

/// The random numbers of one row. The standard library's distributions are avoided, since they differ between
/// implementations.
class Draw {
 public:
  Draw(uint64_t seed, int64_t number) {
    std::seed_seq both{uint32_t(seed), uint32_t(seed >> 32), uint32_t(number), uint32_t(uint64_t(number) >> 32)};
    random_.seed(both);
  }
  /// A number from 0 to below 1, with 53 random bits.
  double share() { return double(random_() >> 11) * 0x1p-53; }
  Token token(Token below) { return Token(random_() % uint64_t(below)); }

 private:
  std::mt19937_64 random_;
};

size_t rounded(double tokens) { return size_t(std::lround(tokens)); }

/// A text whose first `prompt` tokens are not learnt, cut to `most`. The first and last label are masked, as in real
/// samples.
Sample finished(std::vector<Token> tokens, size_t prompt, size_t most) {
  Sample sample;
  sample.tokens = std::move(tokens);
  if (most > 0 && sample.size() > most) {
    sample.cut = true;
    sample.tokens.resize(most);
  }
  sample.labels = sample.tokens;
  std::fill_n(sample.labels.begin(), std::min(std::max<size_t>(prompt, 1), sample.size()), kMasked);
  sample.labels.back() = kMasked;
  return sample;
}

}  // namespace

TokenRow SyntheticRows::row(int64_t number) const {
  assert(vocabulary > 0 && (most > 0 || !longest));
  // The order of draws (length, tokens, other length, other tokens) is part of the result.
  const Shape shape = shapeOf(kind, pairs);
  Draw draw(seed, number);
  const auto length = [&] {
    const double drawn = shape.mean * partOfMean(draw.share());
    return longest ? most : std::max<size_t>(4, rounded(drawn));
  };
  std::vector<Token> tokens(length());
  std::ranges::generate(tokens, [&] { return draw.token(vocabulary); });
  const size_t prompt = rounded(shape.prompt * double(tokens.size()));
  TokenRow row;
  if (pairs) {
    std::vector<Token> other(tokens.begin(), tokens.begin() + ptrdiff_t(prompt));
    // The rejected answer has the length of another row's answer, as it would in real data.
    const size_t answer = std::max<size_t>(2, rounded((1 - shape.prompt) * double(length())));
    std::generate_n(std::back_inserter(other), answer, [&] { return draw.token(vocabulary); });
    row.rejected = finished(std::move(other), prompt, most);
  }
  row.chosen = finished(std::move(tokens), prompt, most);
  return row;
}

bool SyntheticRows::areShort() const {
  // Prompt and answer of a pair are parts of two lengths, each rounded, so one token more is possible.
  const size_t most_drawn = rounded(shapeOf(kind, pairs).mean * kLongest) + 1;
  return !longest && (most == 0 || most_drawn <= most);
}

TextSize sizeOf(const Sample& sample) {
  TextSize size{std::ssize(sample), 0, sample.cut};
  for (size_t i = 1; i < sample.labels.size(); ++i) {
    if (sample.labels[i] == kMasked) continue;
    ++size.learnt;
    size.weight += sample.weights.empty() ? 1 : sample.weights[i];
  }
  return size;
}

RowSize TokenRow::size() const {
  if (!rejected) return {sizeOf(chosen), TextSize(), false, false};
  return {sizeOf(chosen), sizeOf(*rejected), true, alike(chosen, *rejected)};
}

TokenRows::TokenRows(std::shared_ptr<const Tokenizer> tokenizer, Dataset dataset, int64_t max_length)
    : max_length_(max_length), tokenizer_(std::move(tokenizer)) {
  take(std::move(dataset));
}

void TokenRows::take(Dataset dataset) {
  dataset_ = std::move(dataset);
  origin_ = dataset_.origin;
  if (dataset_.borrowed_answers)
    notes_.push_back("rows have one answer: the rejected one is the next row's different answer");
}

TokenRowsOptions apartFrom(TokenRowsOptions options, const std::string& path, bool questions) {
  options.data = {.path = path,
                  .kind = options.data.kind,
                  .pairs = options.data.pairs && !questions,
                  .choices = questions,
                  .byte_limit = options.data.byte_limit};
  options.parameter = questions ? "questions" : "validation";
  return options;
}

Expected<std::shared_ptr<const Tokenizer>> openTokenizer(const TokenRowsOptions& options,
                                                         std::vector<std::string>& notes) {
  const std::string& path = options.tokenizer.empty() ? options.model_folder : options.tokenizer;
  if (path.empty()) notes.push_back("no tokenizer is named and the model has none: each byte of the text is a token");
  auto tokenizer = TRY(prefixed("tokenizer", path.empty() ? Tokenizer::bytes() : Tokenizer::open(path)));
  // A token beyond the embedding would read outside of it, on a GPU without an error that names the cause.
  if (options.vocabulary > 0 && tokenizer.rows() > options.vocabulary)
    return failure(
        "tokenizer: {} has tokens up to {}, the model's embedding has {} rows: use the model's "
        "own tokenizer, or a model with a larger vocabulary",
        tokenizer.origin(), tokenizer.rows() - 1, options.vocabulary);
  return std::make_shared<const Tokenizer>(std::move(tokenizer));
}

void TokenRows::makeUp(const TokenRowsOptions& options) {
  // With a tokenizer only its tokens are drawn; the model's embedding may have more rows.
  const Token tokens = options.tokenizer.empty() ? Token(options.vocabulary) : tokenizer_->rows();
  int64_t count = options.synthetic;
  if (options.data.row_limit > 0) count = std::min(count, options.data.row_limit);
  made_up_ = {options.data.kind,          count,          options.data.pairs, tokens, options.seed,
              size_t(options.max_length), options.longest};
  origin_ = fmt::format("synthetic({})", options.synthetic);
}

/// Refuses a model whose own chat template is not the one that `chat` writes, which the tool's environment in it tells.
/// A model without a template takes any. One that writes the date of the day gets a note.
static Error checkChatTemplate(const std::string& folder, std::vector<std::string>& notes) {
  std::string own;
  if (const auto text = expectedToOptional(files::map(folder + "/chat_template.jinja"))) {
    own = (*text)->getBuffer().str();
  } else {
    const auto config = expectedToOptional(files::map(folder + "/tokenizer_config.json"));
    const auto json = config ? expectedToOptional(parseJson((*config)->getBuffer())) : std::nullopt;
    const auto* object = json ? json->getAsObject() : nullptr;
    // Some models have a list of named templates.
    if (const auto* value = object ? object->get("chat_template") : nullptr) own = canonicalJson(*value);
  }
  if (!own.empty() && own.find("Environment: ipython") == std::string::npos)
    return failure("template: the chat template of {} is not Llama 3.1's, which chat writes: use template plain",
                   folder);
  if (own.find("strftime_now") != std::string::npos)
    notes.push_back("the model's chat template writes the date of the day; rows have 26 Jul 2024");
  return Error::success();
}

Expected<TokenRows> TokenRows::open(const TokenRowsOptions& options, std::shared_ptr<const Tokenizer> known) {
  TokenRows rows;
  rows.tokenizer_ = std::move(known);
  rows.max_length_ = options.max_length;
  rows.parameter_ = options.parameter;
  const bool made_up = options.data.path.empty();
  if (!rows.tokenizer_ && !(made_up && options.tokenizer.empty()))
    rows.tokenizer_ = TRY(openTokenizer(options, rows.notes_));
  if (made_up) {
    rows.makeUp(options);
    return rows;
  }
  if (options.data.kind == Template::Chat && !options.model_folder.empty())
    TRY(checkChatTemplate(options.model_folder, rows.notes_));
  auto dataset = readDataset(options.data);
  if (!dataset) {
    // Rows that can be read without the column are not at fault.
    DatasetOptions whole = options.data;
    whole.part_column.clear();
    const bool readable = !options.data.part_column.empty() && expectedToOptional(readDataset(whole));
    return failure("{}: {}", readable ? "validation" : options.parameter, dataset.takeError());
  }
  rows.take(std::move(*dataset));
  return rows;
}

int64_t TokenRows::count() const { return dataset_.examples.empty() ? made_up_.count : std::ssize(dataset_.examples); }

bool TokenRows::pairs() const {
  return dataset_.examples.empty() ? made_up_.pairs : !dataset_.examples.front().rejected.empty();
}

Expected<Sample> TokenRows::sample(const Conversation& conversation, int64_t number) const {
  auto made = makeSample(*tokenizer_, conversation, size_t(max_length_));
  if (made) return made;
  return failure("{}: {}: row {}: {}", parameter_, origin_, number + 1, made.takeError());
}

Expected<TokenRow> TokenRows::row(int64_t number) const {
  if (dataset_.examples.empty()) return made_up_.row(number);
  TokenRow row;
  const Example& example = dataset_.examples[number];
  row.weight = example.weight;
  row.chosen = TRY(sample(example.chosen, number));
  if (example.rejected.empty()) return row;
  row.rejected = TRY(sample(example.rejected, number));
  return row;
}

Expected<std::vector<TokenRow>> TokenRows::rows(ArrayRef<int64_t> numbers, unsigned threads) const {
  return ofRows(*this, numbers, threads, [](TokenRow row) { return row; });
}

Expected<std::vector<RowSize>> TokenRows::sizes(ArrayRef<int64_t> numbers, unsigned threads) const {
  return ofRows(*this, numbers, threads, [](const TokenRow& row) { return row.size(); });
}

bool TokenRows::isShort(const Conversation& conversation) const {
  size_t bytes = 2;  // for begin_of_text and end_of_text
  bool learns = false;
  for (const Message& message : conversation) {
    bytes += kAroundMessage;
    learns |= !message.masked;
    // A token has at least one byte, so bytes bound tokens. A byte that is no UTF-8 becomes a character of three.
    for (const std::string& part : message.parts) bytes += part.size() * (json::isUTF8(part) ? 1 : 3);
  }
  return learns && (max_length_ == 0 || bytes <= size_t(max_length_));
}

uint64_t TokenRows::digest(int64_t number, bool loosely) const {
  if (dataset_.examples.empty()) return 0;
  const Example& example = dataset_.examples[number];
  std::string all;
  for (const Conversation* one : {&example.chosen, &example.rejected})
    for (const Message& message : *one) {
      all += fmt::format("{}{}", nameOf(message.role), message.parts.size());
      for (const std::string& part : message.parts) {
        const std::string text = loosely ? normalised(json::fixUTF8(part)) : part;
        all += fmt::format(":{}:{}", text.size(), text);
      }
    }
  return std::hash<std::string>()(all);
}

bool TokenRows::isShort(int64_t number) const {
  if (dataset_.examples.empty()) return made_up_.areShort();
  const Conversation &chosen = example(number).chosen, &rejected = example(number).rejected;
  return isShort(chosen) && (rejected.empty() || (isShort(rejected) && saidIn(chosen) != saidIn(rejected)));
}

Error nothingToLearn(const std::string& parameter, int64_t rows, const std::string& origin, int64_t max_length) {
  return failure("{}: none of the {} rows of {} has an answer within max_length = {} tokens: raise max_length",
                 parameter, rows, origin, max_length);
}

Error checkParts(const std::string& column, const std::string& origin, int64_t trained, int64_t held_out) {
  if (trained > 0 && held_out > 0) return Error::success();
  return failure("validation: column '{}' of {} leaves no row to {}", column, origin,
                 trained > 0 ? "evaluate" : "train on");
}

std::vector<int64_t> RowLengths::sorted() const {
  std::vector<int64_t> lengths;
  for (const RowSize& row : rows) lengths.push_back(std::max(row.chosen.tokens, row.rejected.tokens));
  std::ranges::sort(lengths);
  return lengths;
}

int64_t RowLengths::longest() const { return rows.empty() ? 0 : sorted().back(); }
int64_t RowLengths::usual() const { return rows.empty() ? 0 : sorted()[rows.size() / 2]; }

int64_t RowLengths::sum() const { return mostTokens(count()); }
int64_t RowLengths::mostTokens(int64_t batch) const { return most(ofEach(rows, &TextSize::tokens), batch); }
int64_t RowLengths::mostLearnt(int64_t batch) const { return most(ofEach(rows, &TextSize::learnt), batch); }

Expected<RowLengths> rowLengths(const TokenRows& rows, unsigned threads) {
  std::vector<int64_t> numbers(rows.count());
  std::iota(numbers.begin(), numbers.end(), 0);
  auto sizes = TRY(rows.sizes(numbers, threads));
  // Rows that teach nothing are never batched, so they do not count.
  std::erase_if(sizes, [](const RowSize& row) { return !row.learns(); });
  return RowLengths{std::move(sizes)};
}

}  // namespace expc::text
