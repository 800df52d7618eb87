#include <doctest/doctest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <ios>
#include <set>
#include <sstream>
#include <string>
#include <tuple>

#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/words.h"
#include "tests/source_dir.h"

using namespace expc;
using parse::Token;

namespace {

struct Lexed {
  source::SourceManager sources;
  source::FileId file;
  std::vector<parse::LexedToken> tokens;

  explicit Lexed(std::string text) : file(sources.add("test.exp", std::move(text))) {
    tokens = parse::tokens(sources, file);
  }
  std::string text(size_t at) const { return std::string(sources.text(tokens[at].range)); }
};

}  // namespace

TEST_CASE("tokens come in order, comments among them") {
  const Lexed lexed("// one\n\n/// two\nlet a = 1..4 // three\r\n//// four\r\n");
  const std::vector<std::pair<Token, std::string>> wanted = {
      {Token::Comment, "// one"},   {Token::Doc, "/// two"},       {Token::Let, "let"},   {Token::Identifier, "a"},
      {Token::Assign, "="},         {Token::Number, "1"},          {Token::Range, ".."},  {Token::Number, "4"},
      {Token::Comment, "// three"}, {Token::Comment, "//// four"}, {Token::EndOfFile, ""}};
  REQUIRE(lexed.tokens.size() == wanted.size());
  for (size_t at = 0; at < wanted.size(); ++at) {
    CHECK(lexed.tokens[at].kind == wanted[at].first);
    CHECK(lexed.text(at) == wanted[at].second);
  }
  const std::vector<uint32_t> lines = {0, 2, 1, 0, 0, 0, 0, 0, 0, 1, 1};
  for (size_t at = 0; at < lines.size(); ++at) CHECK(lexed.tokens[at].lines_before == lines[at]);
}

TEST_CASE("numbers end where the parser ends them") {
  const Lexed lexed("80GiB/gpus 5000img/s 80GiB/2");
  CHECK(lexed.text(0) == "80GiB");
  CHECK(lexed.text(1) == "/");
  CHECK(lexed.text(2) == "gpus");
  CHECK(lexed.text(3) == "5000img/s");
  CHECK(lexed.text(5) == "/");
}

TEST_CASE("what is no token is told apart and loses nothing") {
  const Lexed lexed("\xEF\xBB\xBFlet a = \"open\n @ ä");
  CHECK(lexed.tokens[0].range.begin == 3);
  CHECK(lexed.tokens[3].kind == Token::UnterminatedString);
  CHECK(lexed.tokens[4].kind == Token::Unexpected);
  CHECK(lexed.tokens[5].kind == Token::Unexpected);
  CHECK(lexed.text(5) == "ä");
  CHECK(lexed.tokens[6].kind == Token::EndOfFile);
}

TEST_CASE("only white space lies between tokens, and the tree holds the same ones") {
  int seen = 0;
  for (const char* folder : {"grammar/corpus", "stdlib", "experiments"})
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(expc::test::sourceDir()) / folder)) {
      if (entry.path().extension() != ".exp") continue;
      CAPTURE(entry.path().string());
      std::ifstream in(entry.path(), std::ios::binary);
      std::stringstream text;
      text << in.rdbuf();
      const Lexed lexed(text.str());
      uint32_t end = 0;
      std::vector<std::tuple<uint32_t, uint32_t, Token>> significant;
      for (const parse::LexedToken& token : lexed.tokens) {
        const std::string_view between = lexed.sources.text({lexed.file, end, token.range.begin});
        CHECK(between.find_first_not_of(" \t\r\n") == std::string_view::npos);
        end = token.range.end;
        if (!token.isComment()) significant.emplace_back(token.range.begin, token.range.end, token.kind);
      }
      CHECK(end == text.str().size());

      diag::Collector said;
      diag::Emitter emitter(said);
      parse::Reporter reporter(lexed.sources, emitter, lexed.file);
      const parse::Tree tree = parse::parseTree(lexed.sources, lexed.file, parse::Rule::File, reporter);
      CHECK(said.diagnostics.empty());
      std::vector<std::tuple<uint32_t, uint32_t, Token>> leaves;
      for (const parse::Node& node : tree.nodes)
        if (node.is_token) leaves.emplace_back(node.begin, node.end, node.token);
      CHECK(leaves == significant);
      ++seen;
    }
  CHECK(seen >= 9);
}

TEST_CASE("the lexer's words are those of the table") {
  std::set<std::string> written, listed;
#define X(name, token, text) \
  if (std::string_view(text) != "" && std::isalpha(text[0])) written.insert(text);
  EXPC_PARSE_TOKENS(X)
#undef X
  for (const words::Role role : {words::Role::Head, words::Role::Clause, words::Role::Operator})
    for (const std::string& word : words::texts(role)) listed.insert(word);
  // Reserved for statements to come, and old spellings: neither is proposed to anyone. "at least" is two words of the
  // table.
  for (const char* word : {"find", "allow", "give", "at least"}) written.erase(word);
  CHECK(written == listed);
}
