#include "runtime/data/text/questions.h"

#include <algorithm>
#include <fstream>

#include "tests/support/folder.h"
#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

/// The questions of rows in template plain, or the error.
Expected<std::vector<Question>> asked(const std::string& rows, int64_t max_length = 200) {
  const test::TestFolder folder;
  std::ofstream(folder / "q.jsonl") << rows;
  TokenRowsOptions options;
  options.data = {.path = folder / "q.jsonl", .kind = Template::Plain, .choices = true};
  options.max_length = max_length;
  return readQuestions(options, toyTokenizer());
}

std::string rowOf(const std::string& top) {
  return R"({"messages": [{"role": "user", "content": "two and two"}, {"role": "assistant", "content": " four\n"}])" +
         top + "}\n";
}

TEST_CASE("a prompt ends where the answer begins, and choices differ behind it") {
  const Tokenizer tokenizer = toyTokenizer();
  auto questions = asked(rowOf("") + rowOf(R"(, "choices": ["five", "four", "a hundred"])"));
  REQUIRE(questions);
  REQUIRE(questions->size() == 2);
  const Question& open = (*questions)[0];
  CHECK(open.answer == "four");
  CHECK(open.choices.empty());
  auto text = tokenizer.decode(open.prompt);
  REQUIRE(text);
  CHECK(*text ==
        "<|begin_of_text|><|start_header_id|>user<|end_header_id|>\n\ntwo and two<|eot_id|><|start_header_id|>"
        "assistant<|end_header_id|>\n\n");
  const Question& closed = (*questions)[1];
  CHECK(closed.right == 1);
  REQUIRE(closed.choices.size() == 3);
  for (const Sample& choice : closed.choices) {
    CHECK(std::equal(open.prompt.begin(), open.prompt.end(), choice.tokens.begin()));
    for (size_t at = 0; at < choice.size(); ++at)
      CHECK((choice.labels[at] == kMasked) == (at < open.prompt.size() || at + 1 == choice.size()));
  }
}

TEST_CASE("a row that is no question is named") {
  for (const auto& [rows, why] :
       {std::pair(rowOf(R"(, "choices": ["five"])"), "row 1: its answer is not one of 'choices'"),
        {rowOf("") + rowOf(R"(, "choices": [4])"), "row 2: 'choices' is not an array of strings"},
        {rowOf(R"(, "choices": "four")"), "row 1: 'choices' is not an array of strings"},
        {std::string(R"({"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"},
          {"role": "user", "content": "c"}]})"),
         "row 1: its last message is not an answer"},
        {std::string("{}"), "row 1: unknown column 'messages'"}}) {
    auto questions = asked(rows);
    REQUIRE_FALSE(bool(questions));
    const std::string text = toString(questions.takeError());
    CAPTURE(text);
    CHECK(StringRef(text).starts_with("questions: "));
    CHECK(StringRef(text).contains(why));
  }
  auto narrow = asked(rowOf(""), 16);
  REQUIRE_FALSE(bool(narrow));
  CHECK(StringRef(toString(narrow.takeError())).contains("max_length is 16: raise max_length"));
}

}  // namespace
}  // namespace expc::text
