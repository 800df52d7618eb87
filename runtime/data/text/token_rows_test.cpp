#include "runtime/data/text/token_rows.h"

#include <doctest/doctest.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "tests/source_dir.h"
#include "tests/support/folder.h"

using namespace expc::text;

namespace {

/// A file of rows of the template `grammar` whose answers are `lengths` characters long.
class File {
 public:
  explicit File(const std::vector<size_t>& lengths, const std::string& behind = "") {
    REQUIRE(!llvm::sys::fs::createTemporaryFile("rows", "jsonl", path_));
    std::ofstream out(path_.str().str());
    for (const size_t length : lengths)
      out << R"({"input": "a question", "output": ")" << std::string(length, 'x') << "\"}\n";
    out << behind;
  }
  ~File() { llvm::sys::fs::remove(path_); }

  TokenRowsOptions options(int64_t max_length) const {
    TokenRowsOptions options;
    options.data.path = path_.str().str();
    options.data.kind = Template::Grammar;
    options.vocabulary = 1000;
    options.max_length = max_length;
    return options;
  }

 private:
  llvm::SmallString<128> path_;
};

TokenRows opened(const TokenRowsOptions& options) {
  auto rows = TokenRows::open(options);
  if (!rows) FAIL(llvm::toString(rows.takeError()));
  return std::move(*rows);
}

std::vector<int64_t> all(const TokenRows& rows) {
  std::vector<int64_t> numbers(size_t(rows.count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

TEST_CASE("rows by any number of threads are those of one after the other") {
  std::vector<size_t> lengths;
  for (size_t i = 0; i < 300; ++i) lengths.push_back(1 + i * 7 % 113);
  const File file(lengths);
  const TokenRows rows = opened(file.options(100));
  const auto numbers = all(rows);
  auto sizes = rows.sizes(numbers, 4);
  auto made = rows.rows(numbers, 3);
  REQUIRE(bool(sizes));
  REQUIRE(bool(made));
  for (const int64_t number : numbers) {
    auto row = rows.row(number);
    REQUIRE(bool(row));
    const auto at = size_t(number);
    CHECK(row->chosen.tokens == (*made)[at].chosen.tokens);
    CHECK(row->chosen.labels == (*made)[at].chosen.labels);
    CHECK((*sizes)[at].chosen.tokens == int64_t(row->chosen.size()));
    CHECK((*sizes)[at].learns() == (sizeOf(row->chosen).learnt > 0));
    CHECK((*sizes)[at].chosen.cut == row->chosen.cut);
  }
}

TEST_CASE("a row that is short for its text is not cut and learns; one that is cut or learns nothing is never short") {
  const File file({1, 2, 5, 20, 50, 150, 400});
  int64_t of_them_short = 0;
  for (const int64_t most : {60, 100, 150, 300}) {
    const TokenRows rows = opened(file.options(most));
    for (const int64_t number : all(rows)) {
      auto row = rows.row(number);
      REQUIRE(bool(row));
      of_them_short += rows.isShort(number);
      if (row->chosen.cut || sizeOf(row->chosen).learnt == 0) CHECK_FALSE(rows.isShort(number));
    }
  }
  CHECK(of_them_short > 5);
}

TEST_CASE("lengths of rows: the longest, their sum, and the most of a batch") {
  const File file({10, 400, 30, 20});
  const TokenRows rows = opened(file.options(200));
  auto lengths = rowLengths(rows, 2);
  REQUIRE(bool(lengths));
  CHECK(lengths->count() == 4);
  CHECK(lengths->longest() == 200);  // cut
  CHECK(lengths->usual() == lengths->rows[2].chosen.tokens);
  const int64_t first = lengths->rows[0].chosen.tokens;
  CHECK(lengths->sum() == 3 * first + 200 + 30);
  CHECK(lengths->mostTokens(1) == 200);
  CHECK(lengths->mostTokens(2) == 200 + first + 20);
  CHECK(lengths->mostTokens(9) == lengths->sum());
  CHECK(lengths->mostLearnt(1) > lengths->rows[2].chosen.learnt);
  // Rows whose answer lies behind the cut have nothing left to learn.
  const File far({3, 4});
  auto none = rowLengths(opened(far.options(12)), 1);
  REQUIRE(bool(none));
  CHECK(none->count() == 0);
  CHECK(none->longest() == 0);
  CHECK(none->usual() == 0);
  CHECK(none->sum() == 0);
}

TEST_CASE("synthetic rows are as long as the reference study's, and each is drawn for itself") {
  for (const auto& [kind, mean] : {std::pair(Template::Instruct, 118.7), std::pair(Template::Grammar, 57.4),
                                   std::pair(Template::Summarize, 167.1)}) {
    constexpr int64_t kRows = 2000;
    const SyntheticRows rows{kind, kRows, true, 8192, 5, 0, false};
    double chosen = 0, rejected = 0, largest = 0;
    for (int64_t i = 0; i < kRows; ++i) {
      const TokenRow row = rows.row(i);
      REQUIRE(row.rejected.has_value());
      REQUIRE(row.size().learns());
      for (const Sample* sample : {&row.chosen, &*row.rejected}) {
        REQUIRE(sample->tokens.size() == sample->labels.size());
        for (const Token token : sample->tokens) REQUIRE((token >= 0 && token < 8192));
      }
      chosen += double(row.chosen.size());
      rejected += double(row.rejected->size());
      largest = std::max(largest, double(row.chosen.size()));
    }
    // A few rows are far longer than most.
    CHECK(largest > 4.5 * mean);
    CHECK(largest <= 5.5 * mean + 1);
    CHECK(chosen / kRows == doctest::Approx(mean).epsilon(0.03));
    CHECK(rejected / kRows == doctest::Approx(mean).epsilon(0.03));
    // A row does not depend on the number of rows or on earlier draws; another number or seed gives another row.
    const SyntheticRows fewer{kind, 3, true, 8192, 5, 0, false}, other{kind, 3, true, 8192, 6, 0, false};
    CHECK(fewer.row(2).rejected->tokens == rows.row(2).rejected->tokens);
    CHECK(rows.row(1).chosen.tokens != rows.row(2).chosen.tokens);
    CHECK(other.row(2).chosen.tokens != rows.row(2).chosen.tokens);
    const SyntheticRows cut{kind, 50, false, 8192, 5, 16, false}, longest{kind, 5, true, 8192, 5, 300, true};
    for (int64_t i = 0; i < 50; ++i) CHECK((cut.row(i).chosen.cut && cut.row(i).chosen.size() == 16));
    for (int64_t i = 0; i < 5; ++i) {
      const TokenRow row = longest.row(i);
      for (const Sample* sample : {&row.chosen, &*row.rejected}) CHECK((!sample->cut && sample->size() == 300));
    }
    CHECK(rows.areShort());
    CHECK_FALSE(cut.areShort());
    CHECK_FALSE(longest.areShort());
    // areShort() holds: at the smallest limit for which it is true, none of many rows is cut.
    SyntheticRows edge{kind, kRows, true, 8192, 7, 1, false};
    while (!edge.areShort()) ++edge.most;
    for (int64_t i = 0; i < kRows; ++i) {
      const TokenRow row = edge.row(i);
      REQUIRE((!row.chosen.cut && !row.rejected->cut && row.size().learns()));
    }
  }
}

TEST_CASE("a pair whose texts are one, as far as anything of them is learnt, teaches nothing") {
  const auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::bytes());
  const auto pair = [](const std::string& chosen, const std::string& rejected, const std::string& after = "") {
    const auto talk = [&](const std::string& answer) {
      Conversation talk{{Role::User, {"what?"}, true}, {Role::Assistant, {answer}, false}};
      if (!after.empty()) talk.push_back({Role::User, {after + answer}, true});
      return talk;
    };
    return Example{talk(chosen), talk(rejected)};
  };
  Dataset dataset;
  const std::string same(40, 'y');
  dataset.examples = {pair("good", "bad"),  pair("same", "same"),         pair("same", " same\n"),   pair("", " "),
                      pair("good", "gOod"), pair(same + "a", same + "b"), pair("one", "one", "and ")};
  const auto learns = [&](int64_t most) {
    const TokenRows rows(tokenizer, dataset, most);
    std::string text;
    for (int64_t i = 0; i < rows.count(); ++i) {
      const RowSize size = llvm::cantFail(rows.row(i)).size();
      // isShort(), which sees no tokens, must not promise too much.
      if (rows.isShort(i)) CHECK(size.learns());
      text += size.learns() ? (rows.isShort(i) ? 's' : 'l') : '-';
    }
    return text;
  };
  CHECK(learns(0) == "s---ss-");
  CHECK(learns(200) == "s---ss-");
  CHECK(learns(50) == "s---s--");  // the answers of the last but one differ behind the cut
}

TEST_CASE("rows that are made up have both answers of pairs, and keep to the limit") {
  TokenRowsOptions options;
  options.synthetic = 20;
  options.data.pairs = true;
  options.data.row_limit = 7;
  options.vocabulary = 100;
  options.max_length = 64;
  const TokenRows rows = opened(options);
  CHECK(rows.count() == 7);
  CHECK(rows.pairs());
  auto row = rows.row(3);
  REQUIRE(bool(row));
  REQUIRE(row->rejected.has_value());
  CHECK(row->size().pair);
  CHECK(row->size().rejected.tokens == int64_t(row->rejected->size()));
}

TEST_CASE("what is wrong with rows or tokenizer names the file and the place") {
  const File file({3, 4}, "{\"input\": \"a question\"}\n");
  auto rows = TokenRows::open(file.options(100));
  REQUIRE_FALSE(bool(rows));
  const std::string text = llvm::toString(rows.takeError());
  CHECK(llvm::StringRef(text).starts_with("data: "));
  CHECK(llvm::StringRef(text).contains("row 3"));
  TokenRowsOptions held_out = file.options(100);
  held_out.parameter = "validation";
  CHECK(llvm::StringRef(llvm::toString(TokenRows::open(held_out).takeError())).starts_with("validation: "));
  const File good({3});
  TokenRowsOptions options = good.options(100);
  options.vocabulary = 10;
  auto small = TokenRows::open(options);
  REQUIRE_FALSE(bool(small));
  CHECK(llvm::StringRef(llvm::toString(small.takeError())).starts_with("tokenizer: "));
  options.tokenizer = "/nowhere/tokenizer.json";
  auto missing = TokenRows::open(options);
  REQUIRE_FALSE(bool(missing));
  CHECK(llvm::StringRef(llvm::toString(missing.takeError())).starts_with("tokenizer: "));
}

TEST_CASE("a model whose own chat template is another one does not take rows of chat") {
  const expc::test::TestFolder folder;
  const auto write = [&](const char* name, const std::string& text) { std::ofstream(folder / name) << text; };
  write("rows.jsonl", R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]})");
  TokenRowsOptions options;
  options.data = {.path = folder / "rows.jsonl", .kind = Template::Chat};
  options.model_folder = folder.path;
  options.tokenizer = expc::test::sourceDir() + "/tests/parity/golden/text/toy_tokenizer.json";
  const auto opened = [&]() -> std::string {
    auto rows = TokenRows::open(options);
    return rows ? "notes " + std::to_string(rows->notes().size()) : llvm::toString(rows.takeError());
  };
  CHECK(opened() == "notes 0");
  write("tokenizer_config.json", R"({"chat_template": "{% if tools %}Environment: ipython\n{% endif %}"})");
  CHECK(opened() == "notes 0");
  write("tokenizer_config.json", "no JSON");
  CHECK(opened() == "notes 0");
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "<|im_start|>"}]})");
  CHECK(llvm::StringRef(opened()).starts_with("template: the chat template of " + folder.path + " is not Llama 3.1's"));
  write("chat_template.jinja", "{{ strftime_now('%d') }}Environment: ipython");
  CHECK(opened() == "notes 1");
  options.data.kind = Template::Plain;
  write("chat_template.jinja", "<|im_start|>");
  CHECK(opened() == "notes 0");
}
