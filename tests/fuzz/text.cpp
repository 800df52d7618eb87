#include "tests/fuzz/text.h"

#include <llvm/Support/JSON.h>

#include "runtime/data/text/batches.h"
#include "runtime/data/text/dataset.h"
#include "runtime/data/text/splitter.h"
#include "runtime/data/text/token_rows.h"
#include "runtime/data/text/tokenizer.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {
namespace {

using namespace expc::text;

/// An error must say something, and about the file.
void said(Error error) {
  const std::string message = toString(std::move(error));
  hold(message.find("fuzz") != std::string::npos, "an error names the file");
  hold(message.size() < 4096, "an error is short");
}

const std::shared_ptr<const Tokenizer>& byteTokenizer() {
  static const auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::bytes());
  return tokenizer;
}

void roundTrip(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<Token> tokens;
  if (auto error = tokenizer.encode(text, tokens)) {  // tokenizer.json's own pattern gives up
    consumeError(std::move(error));
    return;
  }
  for (const Token token : tokens) hold(token >= 0 && token < tokenizer.rows(), "tokens have a row");
  auto back = tokenizer.decode(tokens);
  hold(bool(back), "tokens can be decoded");
  hold(*back == (json::isUTF8(text) ? text : json::fixUTF8(text)), "tokens decode to the text");
}

void asTokenizer(const std::string& bytes) {
  for (auto read : {&Tokenizer::fromTiktoken, &Tokenizer::fromJson}) {
    auto tokenizer = read(bytes, "fuzz");
    if (!tokenizer)
      said(tokenizer.takeError());
    else
      roundTrip(*tokenizer, bytes.substr(0, 256));
  }
}

/// Llama 3's pattern by hand and by PCRE2, but for letters that are newer than PCRE2's tables.
void asText(const std::string& bytes) {
  roundTrip(*byteTokenizer(), bytes);
  std::string text = json::isUTF8(bytes) ? bytes : json::fixUTF8(bytes);
  std::string pieces;
  splitAsLlama3(text, [&](StringRef piece) {
    hold(!piece.empty(), "no piece is empty");
    hold(json::isUTF8(piece), "pieces are cut between characters");
    pieces += piece;
  });
  hold(pieces == text, "pieces make up the text");
}

void asRows(const std::string& bytes) {
  constexpr size_t longest = 48;
  for (const RowFormat format : {RowFormat::Json, RowFormat::Csv})
    for (const Template kind :
         {Template::Instruct, Template::Grammar, Template::Summarize, Template::Plain, Template::Chat})
      for (const bool pairs : {false, true}) {
        auto rows = RowReader::parse(bytes, "fuzz", format);
        DatasetOptions options;
        options.kind = kind;
        options.pairs = pairs;
        options.row_limit = 1000;
        // Going on after refused rows, as an inspection does, finds the first fault and no row fewer.
        std::vector<RowFault> faults;
        auto again = RowReader::parse(bytes, "fuzz", format);
        auto all = readDataset(*again, options, &faults);
        auto dataset = readDataset(*rows, options);
        hold(!dataset || (all && faults.empty() && all->examples.size() == dataset->examples.size()), "rows agree");
        if (!all) said(all.takeError());
        if (!dataset) {
          said(dataset.takeError());
          continue;
        }
        const TokenRows made(byteTokenizer(), std::move(*dataset), longest);
        std::vector<Sample> samples;
        for (int64_t number = 0; number < made.count(); ++number) {
          auto row = made.row(number);
          hold(bool(row), "rows can be tokenised");
          hold(row->rejected.has_value() == pairs, "pairs have two sides");
          const bool whole = row->size().learns() && !row->chosen.cut && !(pairs && row->rejected->cut);
          hold(whole || !made.isShort(number), "a row that is short for its text is whole and learns");
          samples.push_back(std::move(row->chosen));
        }
        int64_t total = 0;
        for (const Sample& sample : samples) {
          hold(sample.tokens.size() == sample.labels.size() && sample.size() <= longest && sample.size() >= 2,
               "samples are cut");
          hold(sample.labels.front() == kMasked && sample.labels.back() == kMasked, "ends are masked");
          total += int64_t(sample.size());
        }
        std::vector<int64_t> lengths;
        for (const Sample& sample : samples) lengths.push_back(int64_t(sample.size()));
        const auto bounds = packBounds(lengths, int64_t(longest));
        int64_t real = 0;
        for (size_t i = 0; i + 1 < bounds.size(); ++i) {
          std::vector<const Sample*> held;
          for (size_t at = bounds[i]; at < bounds[i + 1]; ++at) held.push_back(&samples[at]);
          real += packOf(held, longest).real;
        }
        hold(real == total, "packs hold every token");
      }
}

}  // namespace

void readTexts(const std::string& bytes) {
  asTokenizer(bytes);
  asText(bytes);
  asRows(bytes);
}

}  // namespace expc::fuzz
