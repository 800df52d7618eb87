#include "runtime/data/text/tokenizer.h"

#include <doctest/doctest.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/FileSystem.h>

#include <iterator>

#include "tests/support/folder.h"
#include "tests/support/text/golden.h"

namespace expc::text {
namespace {

/// A vocabulary of all bytes and these texts, in tiktoken's form.
std::string tiktokenText(ArrayRef<std::string> more) {
  std::string text;
  int rank = 0;
  for (int byte = 0; byte < 256; ++byte)
    text += llvm::encodeBase64(std::string(1, char(byte))) + " " + std::to_string(rank++) + "\n";
  for (const std::string& token : more) text += llvm::encodeBase64(token) + " " + std::to_string(rank++) + "\n";
  return text;
}

TEST_CASE("both forms of a vocabulary give the ids of tiktoken and Hugging Face") {
  auto tiktoken = Tokenizer::fromTiktoken(golden("toy_bpe.model"), "toy_bpe.model");
  REQUIRE(tiktoken);
  auto json = Tokenizer::fromJson(golden("toy_tokenizer.json"), "toy_tokenizer.json");
  REQUIRE(json);
  const auto cases = goldenJson("tokenizer_cases.json");
  int compared = 0;
  for (const auto& value : *cases.getAsObject()->getArray("encode_no_bos_eos")) {
    const auto text = *value.getAsObject()->getString("text");
    CAPTURE(text.str());
    const auto wanted = tokensOf(*value.getAsObject()->get("ids"));
    CHECK(encoded(*tiktoken, text) == wanted);
    CHECK(encoded(*json, text) == wanted);
    auto back = tiktoken->decode(wanted);
    REQUIRE(back);
    CHECK(*back == text);
    ++compared;
  }
  CHECK(compared == 18);
  const auto& ends = *cases.getAsObject()->getObject("bos_eos");
  CHECK(encoded(*tiktoken, *ends.getString("text"), true, true) == tokensOf(*ends.get("ids")));
  CHECK(tiktoken->rows() == 512 + 256);
}

TEST_CASE("a model's folder is opened by the tokenizer in it") {
  const test::TestFolder folder;
  const std::string path = folder.path;
  REQUIRE(!llvm::sys::fs::create_directory(path + "/original"));
  REQUIRE(!llvm::sys::fs::copy_file(kGolden + "toy_bpe.model", path + "/original/tokenizer.model"));
  auto tokenizer = Tokenizer::open(path);
  REQUIRE(tokenizer);
  CHECK(tokenizer->origin() == path + "/original/tokenizer.model");
  REQUIRE(!llvm::sys::fs::copy_file(kGolden + "toy_tokenizer.json", path + "/tokenizer.json"));
  tokenizer = Tokenizer::open(path);
  REQUIRE(tokenizer);
  CHECK(tokenizer->origin() == path + "/tokenizer.json");
}

TEST_CASE("special tokens lie where Llama 3 has them") {
  const auto special = goldenJson("special_tokens.json");
  CHECK(kLlama3Pattern == *special.getAsObject()->getString("pattern"));
  const auto tokens = SpecialTokens::llama3(128000);
  const auto& wanted = *special.getAsObject()->getObject("llama3");
  CHECK(tokens.all.size() == wanted.size());
  for (const auto& [name, id] : tokens.all) CHECK(wanted.getInteger(name) == int64_t(id));
  CHECK(tokens.pad == 128004);
  CHECK(tokens.end_of_turn == 128009);
}

TEST_CASE("without a file bytes are tokens") {
  const Tokenizer tokenizer = Tokenizer::bytes();
  CHECK(encoded(tokenizer, "aé", true, true) == std::vector<Token>{256, 'a', 0xc3, 0xa9, 257});
  CHECK(encoded(tokenizer, "<|eot_id|>").size() == 10);
  auto back = tokenizer.decode(std::vector<Token>{256, 'a', 265});
  REQUIRE(back);
  CHECK(*back == "<|begin_of_text|>a<|eot_id|>");
  CHECK(messageOf(tokenizer.decode(std::vector<Token>{-1})).find("no token -1") != std::string::npos);
  CHECK(messageOf(tokenizer.decode(std::vector<Token>{2147483647})).find("no token 2147483647") != std::string::npos);
  CHECK(tokenizer.rows() == 266);
}

TEST_CASE("what is not UTF-8 counts as the replacement character, as in Python") {
  const Tokenizer tokenizer = Tokenizer::bytes();
  const auto same = [&](StringRef broken, StringRef meant) {
    CHECK(encoded(tokenizer, broken) == encoded(tokenizer, meant));
  };
  same(
      "a\xff"
      "b",
      "a\xef\xbf\xbd"
      "b");
  same("\xe4\xbd", "\xef\xbf\xbd");                              // cut off: one
  same("\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");  // a surrogate: one for each byte
  same("\xf5\x80", "\xef\xbf\xbd\xef\xbf\xbd");
}

TEST_CASE("the lowest rank is merged first, the leftmost of equals") {
  auto tokenizer = Tokenizer::fromTiktoken(tiktokenText({"ab", "bc", "abc", "aa", "aaaa"}), "small");
  REQUIRE(tokenizer);
  CHECK(encoded(*tokenizer, "abc") == std::vector<Token>{258});
  CHECK(encoded(*tokenizer, "xabcx") == std::vector<Token>{'x', 258, 'x'});
  CHECK(encoded(*tokenizer, "aaaaa") == std::vector<Token>{260, 'a'});
  CHECK(encoded(*tokenizer, "bbcab") == std::vector<Token>{'b', 257, 256});
}

/// Merges as the definition says, word for word: every step looks at every pair.
std::vector<Token> mergedSlowly(const Vocabulary& vocabulary, StringRef piece) {
  std::vector<std::string> parts;
  for (const char c : piece) parts.emplace_back(1, c);
  while (true) {
    Token best = -1;
    size_t at = 0;
    for (size_t i = 0; i + 1 < parts.size(); ++i) {
      const Token id = vocabulary.find(parts[i] + parts[i + 1]);
      if (id >= 0 && (best < 0 || id < best)) best = id, at = i;
    }
    if (best < 0) break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  std::vector<Token> tokens;
  for (const std::string& part : parts) tokens.push_back(vocabulary.find(part));
  return tokens;
}

TEST_CASE("short and long pieces are merged as the definition says") {
  std::vector<std::string> texts(256);
  for (size_t byte = 0; byte < 256; ++byte) texts[byte] = std::string(1, char(byte));
  for (const char* more : {"ab", "ba", "aa", "aba", "bb", "abab", "aaaa", "bab", "ababab", "bbbb", "aabb", "babab"})
    texts.emplace_back(more);
  auto vocabulary = Vocabulary::make(std::vector<StringRef>(texts.begin(), texts.end()));
  REQUIRE(vocabulary);
  uint32_t random = 1;
  for (const size_t size : {1u, 2u, 3u, 7u, 30u, 95u, 96u, 97u, 98u, 150u, 400u}) {
    for (int repeat = 0; repeat < 20; ++repeat) {
      std::string piece;
      while (piece.size() < size) piece += "ab"[(random = random * 1664525u + 1013904223u) >> 30 & 1];
      std::vector<Token> merged;
      mergePiece(*vocabulary, nullptr, piece, merged);
      CHECK(merged == mergedSlowly(*vocabulary, piece));
    }
  }
}

TEST_CASE("a megabyte of one character takes no quadratic time") {
  auto tokenizer = Tokenizer::fromTiktoken(tiktokenText({"aa", "aaaa", "aaaaaaaa"}), "small");
  REQUIRE(tokenizer);
  const std::string text(1 << 20, 'a');
  // One piece of a megabyte: in quadratic time this would take hours, so the test's timeout would stop it.
  std::vector<std::string> texts(256);
  for (size_t byte = 0; byte < 256; ++byte) texts[byte] = std::string(1, char(byte));
  texts.insert(texts.end(), {"aa", "aaaa", "aaaaaaaa"});
  auto vocabulary = Vocabulary::make(std::vector<StringRef>(texts.begin(), texts.end()));
  REQUIRE(vocabulary);
  std::vector<Token> merged;
  mergePiece(*vocabulary, nullptr, text, merged);
  CHECK(merged == std::vector<Token>(1 << 17, 258));
  // Encoded as a text it is cut every 25,000 characters (and at 400,000), which are multiples of 8.
  CHECK(encoded(*tokenizer, text) == std::vector<Token>(1 << 17, 258));
}

TEST_CASE("a text is cut where the recipes cut it") {
  auto tokenizer = Tokenizer::fromTiktoken(tiktokenText({"aa", "  "}), "small");
  REQUIRE(tokenizer);
  // The last two characters are a piece of their own, since the text is cut after 25,000.
  auto tokens = encoded(*tokenizer, std::string(25'002, 'a'));
  CHECK(tokens.size() == 12'501);
  tokens = encoded(*tokenizer, "b" + std::string(25'000, 'a'));
  CHECK(tokens.size() == 1 + 12'499 + 1 + 1);  // b, 24,999 a, and one a
  // The second cut counts from the first one, not from where white space ends.
  tokens = encoded(*tokenizer, std::string(25'001, ' ') + "x");
  CHECK(tokens.size() == 12'500 + 1 + 1);
}

TEST_CASE("files that are no vocabulary say what is wrong") {
  const auto tiktoken = [](StringRef text) { return messageOf(Tokenizer::fromTiktoken(text, "t.model")); };
  has(tiktoken(""), "t.model: it is empty; a tokenizer in tiktoken's form");
  has(tiktoken("AA== 0\nAQ== 1\nnonsense\n"), "line 3: expected base64");
  has(tiktoken("AA== 0\n!!!! 1\n"), "line 2: the text before the space is not base64");
  has(tiktoken("AA== 0\nAQ== 0\n"), "lines 1 and 2 both have rank 0");
  has(tiktoken("AA== 0\nAQ== 99999999999999999999\n"), "its rank is not a whole number");
  has(tiktoken("AA== 0\nAQ== 3999999\n"), "ranks count up from 0");
  has(tiktoken("AA== 0\nAQ== 2\n"), "no line has rank 1");
  has(tiktoken("AA== 0\nAA== 1\n"), "tokens 0 and 1 are both '\\x00'");
  has(tiktoken("AA== 0\nAQ== 1\n"), "no token stands for the byte 0x02");

  const std::string whole = golden("toy_tokenizer.json");
  const auto changed = [&](StringRef from, StringRef to) {
    std::string text = whole;
    const size_t at = text.find(from.str());
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to.str());
    return messageOf(Tokenizer::fromJson(text, "tokenizer.json"));
  };
  has(changed("\"type\":\"BPE\"", "\"type\":\"Unigram\""),
      "tokenizer.json: its model is Unigram; only BPE is supported");
  has(changed("\"normalizer\":null", "\"normalizer\":{\"type\":\"NFC\"}"), "it has a normalizer");
  has(changed("\"behavior\":\"Isolated\"", "\"behavior\":\"Removed\""), "behavior Isolated");
  has(changed("\"byte_fallback\":false", "\"byte_fallback\":true"), "model.byte_fallback is not supported");
  has(changed("\"Regex\":\"(?i:", "\"Regex\":\"((?i:"), "is invalid");
  has(changed("\"special\":true", "\"special\":false"), "is not special");
  has(changed("<|eot_id|>", "<|end|>"), "no special token <|eot_id|>");
  has(changed("\"Ā\":0", "\"Ā\":1"), "have the id 1");
  has(changed("\"Ā\":0", "\"你\":0"), "not a text of ByteLevel's characters");
  has(changed("\"merges\":[", "\"merges\":[[\"Ā\",\"Ā\"],"), "joins tokens that are not in model.vocab");
  has(messageOf(Tokenizer::fromJson(std::string(100'000, '{'), "t.json")), "t.json: ");
  has(messageOf(Tokenizer::fromJson(whole.substr(0, whole.size() / 2), "t.json")), "t.json: ");
  has(messageOf(Tokenizer::open("/nowhere/tokenizer.model")), "/nowhere/tokenizer.model: ");
  has(messageOf(Tokenizer::open("/")),
      "/: the folder has no tokenizer.json, tokenizer.model or original/tokenizer.model");
  has(messageOf(Tokenizer::open("/dev/zero")),
      "/dev/zero: is a device, a pipe or a socket, and not a regular file; a tokenizer is");
}

}  // namespace
}  // namespace expc::text
