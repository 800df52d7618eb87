// Prompts, masks, labels and cuts against torchtune's (golden/text/prompts.json).

#include "runtime/data/text/conversation.h"

#include "runtime/data/text/dataset.h"
#include "runtime/data/text/token_rows.h"
#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

using json::Object;

/// The conversation of a fixture's row. Rows without a template have the user's text as its only part.
Conversation conversationOf(const Object& fixture) {
  const Object& raw = *fixture.getObject("raw");
  const auto dataset = *fixture.getString("dataset");
  const bool templated = fixture.getString("template").has_value() || dataset == "alpaca";
  const Template kind = dataset == "alpaca"    ? Template::Instruct
                        : dataset == "grammar" ? Template::Grammar
                                               : Template::Summarize;
  Message user;
  if (templated) {
    auto prompt = promptOf(kind, raw);
    REQUIRE(prompt);
    user = *prompt;
  } else {
    user.parts = {raw.getString(kind == Template::Grammar ? "input" : "dialogue")->str()};
  }
  user.masked = !*fixture.getBoolean("train_on_input");
  Conversation conversation;
  if (const auto system = fixture.getString("new_system_prompt"))
    conversation.push_back({Role::System, {system->str()}, true});
  conversation.push_back(std::move(user));
  conversation.push_back({Role::Assistant, {raw.getString(answerColumn(kind))->str()}, false});
  return conversation;
}

TEST_CASE("prompts, labels and cuts are torchtune's") {
  const Tokenizer tokenizer = toyTokenizer();
  const auto json = goldenJson("prompts.json");
  int compared = 0, cut = 0;
  for (const auto& value : *json.getAsObject()->getArray("rows")) {
    const Object& fixture = *value.getAsObject();
    const auto most = fixture.getInteger("max_seq_len").value_or(0);
    CAPTURE(compared);
    auto sample = makeSample(tokenizer, conversationOf(fixture), size_t(most));
    REQUIRE(sample);
    CHECK(sample->tokens == tokensOf(*fixture.get("tokens")));
    CHECK(sample->labels == tokensOf(*fixture.get("labels")));
    CHECK(sizeOf(*sample).learnt > 0);
    ++compared;
    cut += sample->cut;
  }
  CHECK(compared == 14);
  CHECK(cut >= 6);
}

TEST_CASE("preference pairs are torchtune's") {
  const auto tokenizer = std::make_shared<const Tokenizer>(toyTokenizer());
  const auto json = goldenJson("prompts.json");
  for (const auto& value : *json.getAsObject()->getArray("preference")) {
    const Object& fixture = *value.getAsObject();
    std::string line;
    llvm::raw_string_ostream(line) << json::Value(Object(*fixture.getObject("raw")));
    auto rows = RowReader::parse(line, "pair.jsonl", RowFormat::Json);
    DatasetOptions options;
    options.kind = Template::Plain;
    options.pairs = true;
    auto dataset = readDataset(*rows, options);
    REQUIRE(dataset);
    auto row = TokenRows(tokenizer, std::move(*dataset), 0).row(0);
    REQUIRE(row);
    CHECK(row->chosen.tokens == tokensOf(*fixture.get("chosen_input_ids")));
    CHECK(row->chosen.labels == tokensOf(*fixture.get("chosen_labels")));
    CHECK(row->rejected->tokens == tokensOf(*fixture.get("rejected_input_ids")));
    CHECK(row->rejected->labels == tokensOf(*fixture.get("rejected_labels")));
  }
}

TEST_CASE("what is no conversation is said") {
  const Message system{Role::System, {"s"}}, user{Role::User, {"u"}}, assistant{Role::Assistant, {"a"}};
  CHECK(!problemOf({user, assistant}));
  CHECK(!problemOf({system, user, assistant, user, assistant}));
  CHECK(problemOf({user}) == "a conversation of 1 message; a question and an answer are needed");
  CHECK(problemOf({user, user}) == "messages 1 and 2 are both the user's");
  CHECK(problemOf({system, assistant}) == "message 2 is the assistant's, but follows none of the user");
  CHECK(problemOf({user, assistant, system}) == "message 3 is the system's; only the first may be");
  CHECK(problemOf({system, user}) == "no message is the assistant's, so there is nothing to learn");
}

}  // namespace
}  // namespace expc::text
