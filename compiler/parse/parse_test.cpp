#include "compiler/parse/parse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/ast/dump.h"
#include "compiler/diag/render.h"
#include "compiler/parse/antlr_bridge.h"
#include "compiler/parse/load.h"

using namespace expc;

namespace {

struct Parsed {
  source::SourceManager sources;
  diag::Collector said;
  ast::Module module;
  ast::ExprPtr expr;
};

Parsed parseText(const std::string& text, bool expression = false) {
  Parsed out;
  diag::Emitter emitter(out.said);
  if (auto file = parse::load(out.sources, "test.exp", text, emitter)) {
    if (expression)
      out.expr = parse::parseExpression(out.sources, *file, emitter);
    else
      out.module = parse::parse(out.sources, *file, emitter);
  }
  return out;
}

std::string expr(const std::string& text) {
  Parsed parsed = parseText(text, true);
  if (!parsed.expr) return parsed.said.diagnostics.empty() ? "nothing said" : parsed.said.diagnostics[0].message;
  CHECK(parsed.said.diagnostics.empty());
  return ast::dump(*parsed.expr);
}

std::string readFile(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream out;
  out << in.rdbuf();
  return out.str();
}

std::string rendered(const Parsed& parsed) {
  std::string out;
  for (const diag::Diagnostic& diagnostic : parsed.said.diagnostics)
    out += diag::renderText(parsed.sources, diagnostic, false);
  return out;
}

}  // namespace

TEST_CASE("every input of the corpus has its tree") {
  const std::filesystem::path corpus = std::filesystem::path(EXPC_SOURCE_DIR) / "grammar" / "corpus";
  const bool update = std::getenv("EXPC_UPDATE") != nullptr;
  int seen = 0;
  for (const auto& entry : std::filesystem::directory_iterator(corpus)) {
    if (entry.path().extension() != ".exp") continue;
    ++seen;
    CAPTURE(entry.path().string());
    Parsed parsed = parseText(readFile(entry.path()));
    CHECK_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
    std::filesystem::path tree = entry.path();
    tree.replace_extension(".tree");
    if (update) std::ofstream(tree, std::ios::binary) << ast::dump(parsed.module);
    CHECK(ast::dump(parsed.module) == readFile(tree));
  }
  CHECK(seen >= 5);
}

TEST_CASE("the studies and modules of this repository parse") {
  int seen = 0;
  for (const char* folder : {"stdlib", "experiments"})
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(EXPC_SOURCE_DIR) / folder)) {
      if (entry.path().extension() != ".exp") continue;
      ++seen;
      Parsed parsed = parseText(readFile(entry.path()));
      CHECK_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
    }
  CHECK(seen >= 2);
}

TEST_CASE("operators bind as the language says") {
  CHECK(expr("1 + 2 * 3 - 4") == "(- (+ 1 (* 2 3)) 4)");
  CHECK(expr("a or b and not c == d") == "(or a (and b (not (== c d))))");
  CHECK(expr("not not a") == "(not (not a))");
  CHECK(expr("--a * b") == "(* (neg (neg a)) b)");
  CHECK(expr("(1 + 2) * 3") == "(* (+ 1 2) 3)");
  CHECK(expr("gpus in 1..4 and method not in { lora, qlora }") ==
        "(and (in gpus (range 1 4)) (not-in method (set lora qlora)))");
  CHECK(expr("gain[precision = fp32][gpus = 2] / 2") == "(/ (index (index gain precision=fp32) gpus=2) 2)");
  CHECK(expr("f(a, b = 1,)") == "(call f a b=1)");
  CHECK(expr("(dali, nhwc)") == "(tuple dali nhwc)");
  CHECK(expr("(dali,)") == "(tuple dali)");
  CHECK(expr("{ (a, b), (c, d), }") == "(set (tuple a b) (tuple c d))");
}

TEST_CASE("numbers carry their unit and ranges keep their dots") {
  CHECK(expr("40GiB") == "40'GiB");
  CHECK(expr("2.0x") == "2.0'x");
  CHECK(expr("95%") == "95'%");
  CHECK(expr("1e6") == "1e6");
  CHECK(expr("1e-6s") == "1e-6's");
  CHECK(expr("5000img/s") == "5000'img/s");
  CHECK(expr("80GiB/gpus") == "(/ 80'GiB gpus)");
  CHECK(expr("80GiB/2") == "(/ 80'GiB 2)");
  CHECK(expr("1..4") == "(range 1 4)");
  CHECK(expr("1..16 by *2") == "(range 1 16 by* 2)");
  CHECK(expr("0..100 by 10") == "(range 0 100 by 10)");
  CHECK(expr("0.5x..1.5x") == "(range 0.5'x 1.5'x)");
  CHECK(expr("1..system.gpus") == "(range 1 system.gpus)");
  CHECK(expr("3-2") == "(- 3 2)");
}

TEST_CASE("texts resolve their escapes") {
  CHECK(expr(R"("a\"b\\c\n\u{e9}")") == "\"a\\\"b\\\\c\\n\xC3\xA9\"");
  CHECK(expr("\"日本\"") == "\"日本\"");
  CHECK(expr(R"("\q")").find("'\\q' is no escape") == 0);
  CHECK(expr(R"("\u{110000}")").find("'\\u' is no escape") == 0);
  CHECK(expr("\"open").find("this text is not closed") == 0);
}

TEST_CASE("contextual words are names, also after dots") {
  CHECK(expr("version + confidence + as + ordered + timed + repeat + lower") ==
        "(+ (+ (+ (+ (+ (+ version confidence) as) ordered) timed) repeat) lower)");
  CHECK(expr("a.design.in") == "a.design.in");
}

TEST_CASE("ranges of nodes are byte ranges, after a byte order mark and non-ASCII text too") {
  Parsed parsed = parseText("\xEF\xBB\xBF// größe\r\nlet a = \"é\" + bb\r\n");
  REQUIRE(parsed.module.lets.size() == 1);
  const ast::LetDecl& let = parsed.module.lets[0];
  CHECK(parsed.sources.text(let.range) == "let a = \"é\" + bb");
  const auto& sum = std::get<ast::BinaryExpr>(let.value->node);
  CHECK(parsed.sources.text(sum.right->range) == "bb");
  CHECK(parsed.sources.text(sum.op_range) == "+");
}

TEST_CASE("doc comments belong to the next declaration") {
  Parsed parsed = parseText("/// One\n/// two.\nlet a = 1\n// no doc\nlet b = 2\n//// ruler\nlet c = 3\n");
  REQUIRE(parsed.module.lets.size() == 3);
  CHECK(parsed.module.lets[0].doc == "One\ntwo.");
  CHECK(parsed.module.lets[1].doc.empty());
  CHECK(parsed.module.lets[2].doc.empty());
}

TEST_CASE("what cannot be a text file is refused before the parser") {
  CHECK(parseText("let a = \"\xFF\"").said.diagnostics[0].kind == diag::Kind::InvalidUtf8);
  CHECK(parseText("let a = \"\xFF\"").said.diagnostics[0].range.begin == 9);
  CHECK(parseText(std::string("let\0a", 5)).said.diagnostics[0].kind == diag::Kind::NulByte);
  CHECK(parseText(std::string(parse::kMaxFileSize + 1, ' ')).said.diagnostics[0].kind == diag::Kind::FileTooLarge);
  CHECK(parseText(std::string(parse::kMaxFileSize, ' ')).said.diagnostics.empty());
}

TEST_CASE("limits hold before anything recurses") {
  for (const char* open : {"(", "{", "["}) {
    std::string deep = "let a = ";
    for (int at = 0; at < 100'000; ++at) deep += open;
    Parsed parsed = parseText(deep);
    REQUIRE(parsed.said.diagnostics.size() == 1);
    CHECK(parsed.said.diagnostics[0].kind == diag::Kind::NestingTooDeep);
  }
  for (const char* link : {"- ", "not "}) {
    std::string deep;
    for (int at = 0; at < 50'000; ++at) deep += link;
    Parsed parsed = parseText(deep + "a", true);
    CHECK(parsed.expr == nullptr);
    CHECK(parsed.said.diagnostics[0].kind == diag::Kind::NestingTooDeep);
  }
  for (const char* link : {" + a", " and a", "[a = 1]"}) {
    std::string deep = "a";
    for (int at = 0; at < 20'000; ++at) deep += link;
    CHECK(parseText(deep, true).said.diagnostics[0].kind == diag::Kind::NestingTooDeep);
  }
  std::string many = "let a = { 1";
  for (size_t at = 0; at < parse::kMaxTokens / 2; ++at) many += ",1";
  CHECK(parseText(many + "}").said.diagnostics[0].kind == diag::Kind::TooManyTokens);
}

TEST_CASE("as deep as is allowed works") {
  std::string deep = "a";
  for (int at = 0; at < 190; ++at) deep = "(" + deep + " + 1)";
  CHECK(parseText(deep, true).expr != nullptr);
}

TEST_CASE("errors stop after twenty, and parsing goes on until then") {
  std::string text;
  for (int at = 0; at < 100; ++at) text += "let = 1\n";
  Parsed parsed = parseText(text);
  REQUIRE(parsed.said.diagnostics.size() == 21);
  CHECK(parsed.said.diagnostics[20].kind == diag::Kind::TooManyErrors);
  CHECK(parseText("let = 1\nlet b = 2\nlet 3\nlet d = 4").module.lets.size() == 2);
  CHECK(parseText(std::string(200'000, '@')).said.diagnostics.size() <= 21);
  std::string signs;
  for (int at = 0; at < 1000; ++at) signs += "@ ";
  CHECK(parseText(signs).said.diagnostics.size() == 21);
}

TEST_CASE("every prefix and every missing token of a study ends with an answer") {
  const std::string text = readFile(std::filesystem::path(EXPC_SOURCE_DIR) / "experiments" / "precision.exp");
  REQUIRE(!text.empty());
  for (size_t size = 0; size < text.size(); size += 3) parseText(text.substr(0, size));
  for (size_t at = 0; at + 4 < text.size(); at += 2) {
    std::string damaged = text;
    damaged.erase(at, 4);
    parseText(damaged);
  }
  CHECK(true);  // reaching this place is the test
}
