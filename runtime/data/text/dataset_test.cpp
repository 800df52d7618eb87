#include "runtime/data/text/dataset.h"

#include <llvm/Support/raw_ostream.h>

#include <system_error>

#include "runtime/data/text/token_rows.h"
#include "tests/source_dir.h"
#include "tests/support/folder.h"
#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

Expected<Dataset> read(StringRef text, const DatasetOptions& options, const char* name = "d.jsonl") {
  const bool csv = StringRef(name).ends_with(".csv");
  auto rows = RowReader::parse(text, name, csv ? RowFormat::Csv : RowFormat::Json);
  return readDataset(*rows, options);
}

DatasetOptions of(Template kind, bool pairs = false, int64_t limit = 0) {
  DatasetOptions options;
  options.kind = kind;
  options.pairs = pairs;
  options.row_limit = limit;
  return options;
}

const std::string& answerOf(const Conversation& conversation) { return conversation.back().parts.front(); }

TEST_CASE("lines, an array and CSV give the same rows") {
  const std::string lines = R"({"input": "he go, \"now\"", "output": "he goes", "more": [1]}
{"input": "a\nb ", "output": "ä"}
)";
  const std::string array =
      R"( [ {"output": "he goes", "input": "he go, \"now\""} , {"input": "a\nb ", "output": "\u00e4"} ] )";
  const std::string csv = "\xef\xbb\xbfinput,output\r\n\"he go, \"\"now\"\"\",he goes\r\n\"a\nb \",ä\r\n";
  for (const auto& [text, name] : {std::pair(lines, "d.jsonl"), std::pair(array, "d.json"), std::pair(csv, "d.csv")}) {
    CAPTURE(name);
    auto dataset = read(text, of(Template::Grammar), name);
    REQUIRE(dataset);
    REQUIRE(dataset->examples.size() == 2);
    const Conversation& first = dataset->examples[0].chosen;
    CHECK(first[0].parts ==
          std::vector<std::string>{"Correct this to standard English: ", "he go, \"now\"", "\n---\nCorrected: "});
    CHECK(first[0].masked);
    CHECK(answerOf(first) == "he goes");
    CHECK(!first[1].masked);
    CHECK(dataset->examples[1].chosen[0].parts[1] == "a\nb ");
    CHECK(answerOf(dataset->examples[1].chosen) == "ä");
  }
}

TEST_CASE("rows behind a limit in bytes may have what the others lack") {
  const std::string row = R"({"input":"a","output":"b"})", text = row + "\n" + row + "\n" + row;
  DatasetOptions options = of(Template::Grammar, true);
  has(messageOf(read(text, options)), "and all 3 answers are equal");
  options.byte_limit = 2 * row.size();
  auto pairs = read(text, options);
  REQUIRE(pairs);
  CHECK(pairs->in_part);
  REQUIRE(pairs->examples.size() == 2);
  CHECK(answerOf(pairs->examples[0].rejected) == "b");
  options.byte_limit = 1;
  pairs = read(text, options);
  REQUIRE(pairs);
  CHECK(pairs->examples.size() == 1);
  options.byte_limit = text.size();
  has(messageOf(read(text, options)), "and all 3 answers are equal");
}

TEST_CASE("a row limit stops reading, so what follows may be anything") {
  for (const char* text :
       {"{\"input\":\"a\",\"output\":\"b\"}\nnonsense", "[{\"input\":\"a\",\"output\":\"b\"}, nonsense"}) {
    auto dataset = read(text, of(Template::Grammar, false, 1));
    REQUIRE(dataset);
    CHECK(dataset->examples.size() == 1);
    has(messageOf(read(text, of(Template::Grammar))), "d.jsonl: row 2: it is not JSON");
  }
}

TEST_CASE("instruct learns the prompt but of pairs, and takes rows without input") {
  const char* text =
      R"([{"instruction": "Add.", "input": "1, 2", "output": "3"}, {"instruction": "Sing.", "output": "La"},
                         {"instruction": "Sing.", "input": null, "output": "La"}])";
  auto dataset = read(text, of(Template::Instruct));
  REQUIRE(dataset);
  CHECK(!dataset->examples[0].chosen[0].masked);
  has(dataset->examples[0].chosen[0].parts[0], "### Input:\n1, 2\n\n### Response:\n");
  CHECK(dataset->examples[1].chosen[0].parts[0].find("Input") == std::string::npos);
  CHECK(dataset->examples[1].chosen[0].parts == dataset->examples[2].chosen[0].parts);
  dataset = read(text, of(Template::Instruct, true));
  REQUIRE(dataset);
  CHECK(dataset->examples[0].chosen[0].masked);
}

TEST_CASE("a field that says what is learnt or seen, and is not applied, is refused by row and name") {
  const auto message = [](const std::string& user, const std::string& assistant, const std::string& top = "") {
    return R"({"messages": [{"role": "user", "content": "q")" + user + R"(}, {"role": "assistant", "content": "a")" +
           assistant + "}]" + top + "}\n";
  };
  const auto of_plain = [&](const std::string& text) { return read(text, of(Template::Plain)); };
  for (const char* refused :
       {R"("weight": -0.5)", R"("loss": "some")", R"("loss_scale": 2)", R"("masked": [1])",
        R"("tool_calls": [{"id": "1"}])", R"("function_call": {"name": "f"})", R"("reasoning_content": "hm")",
        R"("thinking": "hm")", R"("images": ["a.png"])", R"("refusal": "no")"}) {
    const std::string field = std::string(", ") + refused;
    const std::string error = messageOf(of_plain(message("", "") + message("", field)));
    CAPTURE(error);
    has(error, "d.jsonl: row 2: message 2 of 'messages': ");
    const std::string name = StringRef(refused).split(':').first.trim('"').str();
    has(error, ("'" + name + "' is ").c_str());
    // The answers of a pair are checked too.
    const std::string answer = R"([{"role": "assistant", "content": "b")" + field + "}]";
    has(messageOf(read(R"({"prompt": "q", "chosen": "a", "rejected": )" + answer + "}", of(Template::Plain, true))),
        "message 1 of 'rejected': ");
  }
  for (const char* nothing : {R"("weight": 1)", R"("weight": 1.0)", R"("train": true)", R"("loss": null)",
                              R"("tool_calls": [])", R"("masked": false)", R"("reasoning_content": "")", R"("id": 7)"})
    CHECK(of_plain(message("", std::string(", ") + nothing)));
  CHECK(of_plain(message(R"(, "weight": 0)", "")));  // the user's part is not learnt anyway
  for (const char* refused : {R"("tools": [{"type": "function"}])", R"("system": 3)", R"("history": [["a", "b"]])",
                              R"("weight": "nan")", R"("images": ["a.png"])"})
    has(messageOf(of_plain(message("", "", std::string(", ") + refused))), "d.jsonl: row 1: '");
  CHECK(of_plain(message("", "", R"(, "tools": [], "system": null, "history": [])")));
}

TEST_CASE("a message or row that is switched off is masked, and a column system becomes the first message") {
  const auto text = [](const char* first, const char* top) {
    return std::string(R"({"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "bad")") +
           first + R"(}, {"role": "user", "content": "again"}, {"role": "assistant", "content": "good"}])" + top + "}";
  };
  const auto masked = [](const Conversation& conversation) {
    std::vector<bool> flags;
    for (const Message& message : conversation) flags.push_back(message.masked);
    return flags;
  };
  const auto first = [](Expected<Dataset> dataset) {
    REQUIRE(dataset);
    return dataset->examples.front();
  };
  for (const char* off : {R"(, "weight": 0)", R"(, "weight": 0.0)", R"(, "loss": false)", R"(, "train": "false")",
                          R"(, "masked": true)", R"(, "weight": 0, "train": true)"})
    CHECK(masked(first(read(text(off, ""), of(Template::Plain))).chosen) == std::vector<bool>{true, true, true, false});
  CHECK(masked(first(read(text("", ""), of(Template::Plain))).chosen) == std::vector<bool>{true, false, true, false});
  const std::string some = text("", R"(, "train": false)") + "\n" + text("", "");
  CHECK(masked(first(read(some, of(Template::Plain))).chosen) == std::vector<bool>(4, true));
  const Conversation with = first(read(text("", R"(, "system": "Be brief.")"), of(Template::Plain))).chosen;
  CHECK(with.size() == 5);
  CHECK((with[0].role == Role::System && with[0].masked && with[0].parts[0] == "Be brief."));
  auto rows = read("instruction,output,system,weight\na,b,,1\na,c,Be brief.,0\n", of(Template::Instruct), "d.csv");
  REQUIRE(rows);
  CHECK(masked(rows->examples[0].chosen) == std::vector<bool>{false, false});
  CHECK(masked(rows->examples[1].chosen) == std::vector<bool>{true, true, true});
  // A borrowed answer keeps the system's message.
  auto pairs = read("instruction,output,system\na,b,\na,c,Be brief.\n", of(Template::Instruct, true), "d.csv");
  REQUIRE(pairs);
  CHECK(pairs->examples[1].rejected.size() == 3);
  CHECK(answerOf(pairs->examples[1].rejected) == "b");
  has(messageOf(read(R"({"system": "a", "messages": [{"role": "system", "content": "b"},
      {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]})",
                     of(Template::Plain), "d.json")),
      "row 1: 'system' is given, and the messages begin with one of the system");
}

TEST_CASE("messages and rows have weights, which multiply") {
  const auto plain = [](const std::string& of_message, const std::string& of_row, bool pairs = false) {
    const std::string answer = R"({"role": "assistant", "content": "a")" + of_message + "}";
    return read(pairs ? R"({"prompt": "q", "chosen": "b", "rejected": [)" + answer + "]" + of_row + "}"
                      : R"({"messages": [{"role": "user", "content": "q"}, )" + answer +
                            R"(, {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}])" + of_row +
                            "}",
                of(Template::Plain, pairs));
  };
  auto one = plain(R"(, "weight": 0.25)", R"(, "loss_weight": 3)");
  REQUIRE(one);
  const Example& example = one->examples.front();
  CHECK(example.weight == 3);
  CHECK(example.chosen[1].weight == 0.75);
  CHECK(example.chosen[3].weight == 3);
  auto sample = makeSample(toyTokenizer(), example.chosen, 0);
  REQUIRE(sample);
  REQUIRE(sample->weights.size() == sample->size());
  for (size_t i = 0, answers = 0; i < sample->size(); ++i) {
    answers += i > 0 && sample->labels[i] != kMasked && sample->labels[i - 1] == kMasked;
    if (sample->labels[i] != kMasked) CHECK(sample->weights[i] == (answers == 1 ? 0.75 : 3));
  }
  auto none = plain(R"(, "weight": 1)", R"(, "weight": null)");
  REQUIRE(none);
  CHECK(makeSample(toyTokenizer(), none->examples.front().chosen, 0)->weights.empty());
  // A pair counts as a whole, and log-probabilities of its answers count each token once.
  auto pair = plain("", R"(, "weight": 0.5)", true);
  REQUIRE(pair);
  CHECK(pair->examples.front().weight == 0.5);
  CHECK(pair->examples.front().rejected[1].weight == 1);
  has(messageOf(plain(R"(, "weight": 0.5)", "", true)),
      "d.jsonl: row 1: message 1 of 'rejected': 'weight' is 0.5, but in a pair a message is learnt (1) or not (0)");
  for (const char* wrong : {"-1", "1e-05", "20000", "\"nan\"", "\"inf\"", "\"much\"", "[2]"})
    has(messageOf(plain("", std::string(", \"weight\": ") + wrong)),
        (std::string("d.jsonl: row 1: 'weight' is ") + wrong + ", expected 0 or a number from 0.0001 to 10000")
            .c_str());
  has(messageOf(plain("", ", \"weight\": NaN")), "d.jsonl: row 1: it is not JSON");
  has(messageOf(read("instruction,output,weight\na,b,0\na,c,0\n", of(Template::Instruct), "d.csv")),
      "d.csv: row 1: all its answers have weight 0 (by weight, loss, train, mask or the like)");
}

TEST_CASE("chat is written as transformers' apply_chat_template writes it") {
  const Tokenizer tokenizer = toyTokenizer();
  const json::Value golden = goldenJson("chat.json");
  for (const auto& one : *golden.getAsObject()->getArray("cases")) {
    const json::Object& fixture = *one.getAsObject();
    const std::string row = fixture.getString("row")->str();
    CAPTURE(row);
    auto dataset = read(row, of(Template::Chat));
    REQUIRE_MESSAGE(dataset, toString(dataset.takeError()));
    auto sample = makeSample(tokenizer, dataset->examples.front().chosen, 0);
    REQUIRE(sample);
    // A row of ours ends in end_of_text, which is not learnt and comes after everything that is.
    CHECK(sample->tokens.back() == tokenizer.special().end_of_text);
    sample->tokens.pop_back();
    CHECK(sample->tokens == tokensOf(*fixture.get("ids")));
  }
}

TEST_CASE("calls and results of tools are masked by role, and faults are named") {
  const auto chat = [](const std::string& middle, const std::string& top = "") {
    return read(R"({"messages": [{"role": "user", "content": "q"}, )" + middle +
                    R"({"role": "assistant", "content": "a"}])" + top + "}",
                of(Template::Chat));
  };
  const std::string result = R"({"role": "tool", "content": {"b": 1, "a": 2}}, )";
  const auto call = [](const std::string& function) {
    return R"({"role": "assistant", "content": null, "tool_calls": [{"function": )" + function + "}]}, ";
  };
  // Arguments and tools within a string are what the string says.
  for (const char* arguments : {R"({"z": 1, "a": [ ]})", R"("{\"z\": 1, \"a\": []}")"}) {
    auto dataset = chat(call(R"({"name": "f", "arguments": )" + std::string(arguments) + "}") + result,
                        R"(, "tools": "[{\"name\": \"f\"}]")");
    REQUIRE_MESSAGE(dataset, toString(dataset.takeError()));
    const Conversation& said = dataset->examples.front().chosen;
    REQUIRE(said.size() == 5);
    has(said[1].parts[0], "variables.\n\n{\n    \"name\": \"f\"\n}\n\nq");
    CHECK(said[2].parts[0] == R"({"name": "f", "parameters": {"z": 1, "a": []}})");
    CHECK(said[3].parts[0] == R"({"b": 1, "a": 2})");
    CHECK((!said[2].masked && said[3].masked && !said[4].masked));
  }
  const std::string fine = call(R"({"name": "f", "arguments": {}})");
  for (const auto& [middle, why] :
       {std::pair(call("3"), "its call has no function"),
        {call(R"({"name": "f"})"), "its call has no function"},
        {call(R"({"name": "f", "arguments": "x"})"), "its call has no function"},
        {result, "message 2 is a tool's, but follows no call"},
        {fine + R"({"role": "tool"}, )", "message 3 of 'messages': the tool's message has no content"},
        {std::string(R"({"role": "assistant", "content": "", "tool_calls": [1, 2]}, )"), "is not an array of one call"},
        {std::string(R"({"role": "assistant", "content": "x", "tool_calls": [1]}, )"), "it has content beside"},
        {std::string(R"({"role": "robot", "content": "x"}, )"), "system, user and assistant are supported, and tool"}})
    has(messageOf(chat(middle)), why);
  has(messageOf(chat("", R"(, "tools": 3)")), "'tools' is a number, expected an array");
}

TEST_CASE("the rejected answer of rows with one is the next other one") {
  const char* text = R"({"dialogue": "1", "summary": "a"}
{"dialogue": "2", "summary": "a"}
{"dialogue": "3", "summary": "b"}
{"dialogue": "4", "summary": "c"})";
  auto dataset = read(text, of(Template::Summarize, true));
  REQUIRE(dataset);
  CHECK(dataset->borrowed_answers);
  std::string rejected;
  for (const Example& example : dataset->examples) {
    rejected += answerOf(example.rejected);
    CHECK(example.rejected[0].parts == example.chosen[0].parts);
    CHECK(example.rejected[0].masked);
  }
  CHECK(rejected == "bbca");
  has(messageOf(read(text, of(Template::Summarize, true, 2))), "all 2 answers are equal");
  has(messageOf(read(text, of(Template::Summarize, true, 1))), "all 1 answers are equal");
}

TEST_CASE("rows with two answers are taken as they are") {
  auto dataset = read(R"({"instruction": "Sing.", "chosen": "La", "rejected": "No"})", of(Template::Instruct, true));
  REQUIRE(dataset);
  CHECK(!dataset->borrowed_answers);
  CHECK(answerOf(dataset->examples[0].chosen) == "La");
  CHECK(answerOf(dataset->examples[0].rejected) == "No");
  CHECK(dataset->examples[0].chosen[0].masked);
  dataset = read("prompt,chosen,rejected\nWho?,Me,You\n", of(Template::Plain, true), "d.csv");
  REQUIRE(dataset);
  CHECK(answerOf(dataset->examples[0].rejected) == "You");
  const std::string asked = R"({"role": "user", "content": "q"})", good = R"({"role": "assistant", "content": "good"})",
                    bad = R"({"role": "assistant", "content": "bad"})";
  const auto row = [](const std::string& prompt, const std::string& chosen, const std::string& rejected) {
    return R"({"prompt": )" + prompt + R"(, "chosen": )" + chosen + R"(, "rejected": )" + rejected + "}";
  };
  const std::string whole = row("\"q\"", "[" + asked + "," + good + "]", "[" + asked + "," + bad + "]");
  for (const std::string& text :
       {whole, row("null", "[" + asked + "," + good + "]", "[" + asked + "," + bad + "]"),
        row("[" + asked + "]", "[" + good + "]", "[" + bad + "]"), row("\"q\"", "[" + good + "]", "[" + bad + "]"),
        row("[" + asked + "]", "\"good\"", "\"bad\"")}) {
    CAPTURE(text);
    dataset = read(text, of(Template::Plain, true));
    REQUIRE(dataset);
    const Example& example = dataset->examples[0];
    REQUIRE(example.chosen.size() == 2);
    CHECK(example.chosen[0].parts == std::vector<std::string>{"q"});
    CHECK(answerOf(example.chosen) == "good");
    CHECK(answerOf(example.rejected) == "bad");
  }
  has(messageOf(read(row("null", "\"good\"", "\"bad\""), of(Template::Plain, true))), "'prompt' is null");
  has(messageOf(read(row("[" + good + "]", "[" + good + "]", "[" + bad + "]"), of(Template::Plain, true))),
      "'chosen': message 1 is the assistant's");
  has(messageOf(
          read("{\"instruction\":\"a\",\"chosen\":\"b\",\"rejected\":\"c\"}\n{\"instruction\":\"a\",\"output\":\"b\"}",
               of(Template::Instruct, true))),
      "d.jsonl: row 2: unknown column 'chosen' (columns: ");
}

TEST_CASE("errors name file, row and column") {
  const auto message = [](StringRef text, Template kind, const char* name = "d.jsonl") {
    return messageOf(read(text, of(kind), name));
  };
  has(message("", Template::Grammar), "d.jsonl: row 1: the file is empty");
  has(message("[]", Template::Grammar), "d.jsonl: it has no rows");
  has(message("[1]", Template::Grammar), "row 1: expected an object");
  has(message("\"text\"", Template::Grammar), "row 1: expected an object");
  has(message("[{\"input\":\"a\",\"output\":\"b\"}", Template::Grammar),
      "row 2: the file ends within its array; it may be truncated");
  has(message("[{\"input\":\"a\",\"output\":\"b\"},", Template::Grammar), "row 2: the file ends within its array");
  has(message("[{\"input\":\"a\",\"output\":\"b\"}]x", Template::Grammar),
      "row 2: there is text after the end of the array");
  has(message("{\"input\":\"a", Template::Grammar), "row 1: the file ends within it; it may be truncated");
  has(message("{\"input\":\"a\",\"output\":1}", Template::Grammar),
      "d.jsonl: row 1: 'output' is a number, expected a string (template grammar)");
  has(message("{\"input\":\"a\"}", Template::Grammar), "row 1: unknown column 'output' (columns: input)");
  has(message("{\"messages\":[]}", Template::Grammar), "(columns: messages); templates chat and plain read 'messages'");
  has(message("{\"dialogue\":\"a\",\"summary\":\"b\"}", Template::Instruct),
      "; template summarize reads 'dialogue' and 'summary'");
  has(message("{\"input\":\"\xff\",\"output\":\"\"}", Template::Grammar), "row 1: it is not UTF-8; convert the file");
  has(message(std::string(300, '['), Template::Grammar), "row 1: the file ends within it");
  has(message("{\"a\":" + std::string(300, '[') + std::string(300, ']') + "}", Template::Grammar),
      "nested deeper than 200 levels");
  has(message("{\"messages\": \"hello\"}", Template::Plain), "'messages' is a string, expected an array of messages");
  has(message("{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}]}", Template::Plain),
      "'messages': a conversation of 1 message");
  has(message("{\"messages\": [{\"role\": \"tool\", \"content\": \"x\"}]}", Template::Plain),
      "message 1 of 'messages': its role is 'tool'");
  has(message("{\"messages\": [7]}", Template::Plain), "message 1 of 'messages': it is a number");

  has(message("", Template::Grammar, "d.csv"), "d.csv: row 1: the file is empty; its first row names the columns");
  has(message("input,output\n", Template::Grammar, "d.csv"), "d.csv: it has no rows");
  has(message("input,input\na,b\n", Template::Grammar, "d.csv"), "two columns are called 'input'");
  has(message("input,output\na,b\nc\n", Template::Grammar, "d.csv"),
      "d.csv: row 2: 1 cells, the first row names 2 columns");
  has(message("input,output\na,b\n\"c,d\n", Template::Grammar, "d.csv"),
      "d.csv: row 2: it is not CSV: a quote is misplaced");
  has(message("input,output\na,b\"c\n", Template::Grammar, "d.csv"), "d.csv: row 1: it is not CSV");
  has(message("input,output\na,\xe9\n", Template::Grammar, "d.csv"),
      "row 1: column 'output' is not UTF-8; convert the file");
  has(message("messages\nx\n", Template::Plain, "d.csv"), "CSV has no arrays");
  const std::string nul("input,output\na\0b,c\n", 19);
  auto dataset = read(nul, of(Template::Grammar), "d.csv");
  REQUIRE(dataset);
  CHECK(dataset->examples[0].chosen[0].parts[1] == std::string("a\0b", 3));
}

TEST_CASE("a quote that is never closed ends the reading, not the memory") {
  const std::string endless(kLargestRow + (1 << 20), 'x');
  has(messageOf(read("{\"input\": \"" + endless, of(Template::Grammar))),
      "d.jsonl: row 1: it is longer than 16777216 bytes; perhaps a quote or a bracket");
  has(messageOf(read("input,output\n\"" + endless, of(Template::Grammar), "d.csv")),
      "d.csv: row 1: it is longer than 16777216 bytes; a quote may not");
}

TEST_CASE("a folder has a file for each template") {
  const test::TestFolder folder;
  const auto write = [&](const char* name, const char* text) {
    std::error_code error;
    llvm::raw_fd_ostream(folder.path + "/" + name, error) << text;
    REQUIRE(!error);
  };
  auto options = of(Template::Grammar);
  options.path = folder.path;
  has(messageOf(readDataset(options)),
      ": it has no rows of template grammar: grammar.jsonl, grammar.json or grammar.csv");
  write("grammar.csv", "input,output\na,b\n");
  auto dataset = readDataset(options);
  REQUIRE(dataset);
  CHECK(dataset->origin == options.path + "/grammar.csv");
  write("grammar.json", "[]");
  has(messageOf(readDataset(options)), "are both rows of template grammar");
  options.path += "/grammar.txt";
  has(messageOf(readDataset(options)), "grammar.txt: rows are read from .json, .jsonl and .csv");
  for (const auto& [text, form] :
       {std::pair("\x1f\x8b\x08", "it is gzip data"), std::pair("\xff\xfe{", "it is UTF-16 text"),
        std::pair("<!DOCTYPE html>", "it is an HTML page")}) {
    write("packed.jsonl", text);
    options.path = folder.path + "/packed.jsonl";
    has(messageOf(readDataset(options)), form);
  }
  options.path = "/dev/zero.csv";
  has(messageOf(readDataset(options)), "/dev/zero.csv: ");
}

TEST_CASE("the project's own sets are read whole, each with its template") {
  const auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::bytes());
  DatasetOptions options;
  options.path = expc::test::sourceDir() + "/experiments/data/texts";
  const auto check = [&](size_t rows, bool borrowed) {
    CAPTURE(options.path);
    CAPTURE(nameOf(options.kind));
    auto dataset = readDataset(options);
    REQUIRE(dataset);
    CHECK(dataset->examples.size() == rows);
    CHECK(dataset->borrowed_answers == borrowed);
    auto lengths = rowLengths(TokenRows(tokenizer, std::move(*dataset), 4096), 1);
    REQUIRE(lengths);
    CHECK(lengths->count() == int64_t(rows));  // all teach something
    CHECK(lengths->longest() < 4096);
    for (const RowSize& row : lengths->rows) CHECK(row.pair == options.pairs);
  };
  for (options.pairs = false;; options.pairs = true) {
    for (const auto& [kind, rows] :
         {std::pair(Template::Instruct, 160), std::pair(Template::Grammar, 160), std::pair(Template::Summarize, 120)}) {
      options.kind = kind;
      check(size_t(rows), options.pairs);
    }
    if (options.pairs) break;
  }
  options.kind = Template::Plain;
  options.path += "/preferences.jsonl";
  check(120, false);
  options.pairs = false;
  options.path = expc::test::sourceDir() + "/experiments/data/texts";
  check(80, false);
}

TEST_CASE("sets in tokens say what was cut and what teaches nothing") {
  const auto tokenizer = std::make_shared<const Tokenizer>(Tokenizer::bytes());
  auto dataset = read("{\"input\":\"a longer question\",\"output\":\"b\"}\n{\"input\":\"\",\"output\":\"b\"}",
                      of(Template::Grammar));
  REQUIRE(dataset);
  for (const int64_t most : {40, 0}) {
    auto sizes = TokenRows(tokenizer, *dataset, most).sizes({0, 1}, 1);
    REQUIRE(sizes);
    for (const RowSize& row : *sizes) {
      CHECK_FALSE(row.pair);
      CHECK(row.chosen.cut == (most > 0));
      CHECK(row.learns() == (most == 0));
    }
  }
}

}  // namespace
}  // namespace expc::text
