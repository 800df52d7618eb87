#include "compiler/parse/parse.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <sstream>

#include "compiler/diag/render.h"
#include "compiler/parse/antlr_bridge.h"
#include "tests/grammar/dump.h"
#include "tests/source_dir.h"

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
  const std::filesystem::path corpus = std::filesystem::path(expc::test::sourceDir()) / "grammar" / "corpus";
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
    for (const auto& entry :
         std::filesystem::directory_iterator(std::filesystem::path(expc::test::sourceDir()) / folder)) {
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

TEST_CASE("a value for what is not active binds tighter than a product") {
  CHECK(expr("a ?? 1 * 2") == "(* (?? a 1) 2)");
  CHECK(expr("2 / -a ?? -1 ?? b.c") == "(/ 2 (?? (?? (neg a) (neg 1)) b.c))");
  CHECK(expr("rank ?? 0 == 8") == "(== (?? rank 0) 8)");
  CHECK(expr("gain[a = 1] ?? f(x)[b = 2]") == "(?? (index gain a=1) (index (call f x) b=2))");
}

TEST_CASE("lists, records and tuples nest") {
  CHECK(expr("[]") == "(list)");
  CHECK(expr("[1, [2, 3,], { a, b }]") == "(list 1 (list 2 3) (set a b))");
  CHECK(expr("{ rank = 8, alpha = 1 + 1, }") == "(record rank=8 alpha=(+ 1 1))");
  CHECK(expr("{ { rank = 8 }, { rank = 16 } }") == "(set (record rank=8) (record rank=16))");
  CHECK(expr("adapter == { rank = 8 } and b in { 1 }") == "(and (== adapter (record rank=8)) (in b (set 1)))");
  CHECK(expr("gain[(loader,  layout) = (dali, nhwc), gpus = 2]") ==
        "(index gain (loader, layout)=(tuple dali nhwc) gpus=2)");
  CHECK(expr("[1, 2][a = 1]") == "(index (list 1 2) a=1)");
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
  CHECK(expr(R"("\q")").find("invalid escape '\\q'") == 0);
  CHECK(expr(R"("\u{110000}")").find("invalid escape '\\u'") == 0);
  CHECK(expr("\"open").find("this text is not closed") == 0);
}

TEST_CASE("contextual words are names, also after dots") {
  CHECK(expr("version + confidence + as + ordered + timed + repeat + lower") ==
        "(+ (+ (+ (+ (+ (+ version confidence) as) ordered) timed) repeat) lower)");
  CHECK(expr("command - timeout - inputs - estimate - like - infeasible - series") ==
        "(- (- (- (- (- (- command timeout) inputs) estimate) like) infeasible) series)");
  CHECK(expr("a.design.in") == "a.design.in");
}

TEST_CASE("ranges of nodes are byte ranges, after a byte order mark and non-ASCII text too") {
  Parsed parsed = parseText("\xEF\xBB\xBF// größe\r\nlet a = \"é\" + bb\r\n");
  REQUIRE(parsed.module.lets.size() == 1);
  const ast::LetDecl& let = parsed.module.lets[0];
  CHECK(parsed.sources.text(let.range) == "let a = \"é\" + bb");
  const auto& sum = std::get<ast::BinaryExpr>(let.value->node);
  CHECK(parsed.sources.text(sum.right->range) == "bb");
}

TEST_CASE("every name has its range") {
  Parsed parsed = parseText(R"(
reference published from "a.csv" { time = column(t) }
system box { gpu.memory = 94GB }
workload w command ["a", "b"] timeout 2h {
  inputs "c"
  param p : { rank : list(int), pair : (a, b) } = 1
  metric m : Time lower from csv("d")
  let half = m / 2
  estimate m = 2B
}
study s {
  workload ours = a.b(x = 1)
  factor (loader, layout) in { (a, b) }
  control twice = [(loader, layout) = (a, b)]
  criterion c: exists (loader,layout), q: g like published within 5%
  design { repeat 1..2 until half_width(g) <= 1% }
  plot g over (loader, layout) by z
  preset quick { only (loader, layout) in { (a, b) } }
}
)");
  REQUIRE_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
  const auto text = [&](source::Range range) { return parsed.sources.text(range); };
  const ast::Module& module = parsed.module;
  const ast::ReferenceDecl& table = module.references.at(0);
  CHECK(text(table.name.range) == "published");
  CHECK(text(table.path.range) == "\"a.csv\"");
  CHECK(text(table.columns.at(0).name.range) == "time");
  CHECK(text(module.systems.at(0).properties.at(0).target.parts.at(1).range) == "memory");
  const ast::WorkloadDecl& workload = module.workloads.at(0);
  CHECK(text(workload.command->range) == "command [\"a\", \"b\"] timeout 2h");
  CHECK(text(workload.command->arguments.at(1).range) == "\"b\"");
  CHECK(text(workload.inputs.at(0).range) == "\"c\"");
  const ast::TypeExpr& record = workload.params.at(0).type;
  CHECK(text(record.range) == "{ rank : list(int), pair : (a, b) }");
  CHECK(text(record.fields.at(1).range) == "pair");
  CHECK(text(record.parts.at(0).parts.at(0).name.range) == "int");
  CHECK(text(record.parts.at(1).parts.at(1).range) == "b");
  CHECK(text(workload.metrics.at(0).source->range) == "csv(\"d\")");
  CHECK(text(workload.lets.at(0).name.range) == "half");
  CHECK(text(workload.estimates.at(0).name.range) == "m");
  const ast::StudyDecl& study = module.studies.at(0);
  CHECK(text(study.workloads.at(0).label->range) == "ours");
  CHECK(text(study.workloads.at(0).name.parts.at(1).range) == "b");
  CHECK(text(study.workloads.at(0).arguments.at(0).name->range) == "x");
  CHECK(study.factors.at(0).name.name == "(loader, layout)");
  CHECK(text(study.factors.at(0).name.range) == "(loader, layout)");
  CHECK(text(study.factors.at(0).parts.at(1).range) == "layout");
  CHECK(study.controls.at(0).selectors.at(0).name->name == "(loader, layout)");
  CHECK(text(study.controls.at(0).name.range) == "twice");
  const ast::CriterionDecl& criterion = study.criteria.at(0);
  CHECK(criterion.claim.quantifiers.at(0).factors.at(0).name == "(loader, layout)");
  CHECK(text(criterion.claim.quantifiers.at(0).factors.at(0).range) == "(loader,layout)");
  CHECK(text(criterion.claim.assertion.like->range) == "published");
  CHECK(text(criterion.claim.assertion.like_within->range) == "5%");
  CHECK(text(study.designs.at(0).settings.at(0).until->range) == "half_width(g) <= 1%");
  CHECK(text(study.plots.at(0).over.range) == "(loader, layout)");
  CHECK(text(study.presets.at(0).only.at(0).factor.range) == "(loader, layout)");
}

TEST_CASE("'infeasible' is a claim only where it stands alone as one") {
  const auto claim = [](const std::string& text) {
    Parsed parsed = parseText("study s { criterion c: " + text + " }");
    REQUIRE_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
    return parsed.module.studies.at(0).criteria.at(0).claim.assertion.infeasible;
  };
  CHECK(claim("infeasible"));
  CHECK(claim("forall where a > 1: infeasible"));
  CHECK(claim("forall *: exists b: infeasible  with confidence 95%"));
  CHECK_FALSE(claim("infeasible >= 1"));
  CHECK_FALSE(claim("forall *: infeasible like infeasible"));
  CHECK_FALSE(claim("forall infeasible where infeasible == 2: a.infeasible > 1"));
}

TEST_CASE("claims are expressions: 'and' binds more tightly than 'or', and a quantifier reaches to the end") {
  Parsed parsed = parseText(
      "study s { criterion c: forall *: a > 1 or b > 1 and infeasible or (exists x: c > 1 or d > 1)  always }");
  REQUIRE_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
  using Kind = ast::Claim::Kind;
  const ast::Claim& claim = parsed.module.studies.at(0).criteria.at(0).claim;
  CHECK((claim.kind == Kind::Or));
  CHECK(claim.quantifiers.size() == 1);
  REQUIRE(claim.parts.size() == 3);
  CHECK((claim.parts[0].kind == Kind::Assertion));
  CHECK((claim.parts[1].kind == Kind::And));
  CHECK(claim.parts[1].parts.at(1).assertion.infeasible);
  CHECK((claim.parts[2].kind == Kind::Or));
  CHECK(claim.parts[2].quantifiers.at(0).factors.at(0).name == "x");
  CHECK(parseText("study s { criterion c: forall where a and infeasible: b > 1 }").said.diagnostics.empty());
}

TEST_CASE("'workload' names the factor that several workloads make") {
  Parsed parsed = parseText(R"(study s {
  workload ours = a.b
  workload theirs = c
  compare g = speedup(t) over workload against theirs
  criterion c: forall workload, gpus where workload != ours: g[workload = ours] >= 1x
  require workload == ours or gpus == 1
  exclude workload in { ours } and gpus == 2
  table t by gpus, workload
  plot t over workload by workload
  workload third = d
})");
  REQUIRE_MESSAGE(parsed.said.diagnostics.empty(), rendered(parsed));
  const ast::StudyDecl& study = parsed.module.studies.at(0);
  CHECK(study.workloads.size() == 3);
  CHECK(study.compares.at(0).over.at(0).name == "workload");
  CHECK(study.criteria.at(0).claim.quantifiers.at(0).factors.at(0).name == "workload");
  CHECK(ast::dump(*study.rules.at(1).condition) == "(and (in workload (set ours)) (== gpus 2))");
  CHECK(study.tables.at(0).by.at(1).name == "workload");
  CHECK(expr("workload == ours") == "(== workload ours)");
  CHECK(expr("workload not in { ours }") == "(not-in workload (set ours))");
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
  for (const char* link : {" + a", " and a", " ?? a", "[a = 1]"}) {
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
  for (const char* file : {"experiments/precision.exp", "grammar/corpus/constructs.exp"}) {
    const std::string text = readFile(std::filesystem::path(expc::test::sourceDir()) / file);
    REQUIRE(!text.empty());
    for (size_t size = 0; size < text.size(); size += 5) parseText(text.substr(0, size));
    for (size_t at = 0; at + 4 < text.size(); at += 5) {
      std::string damaged = text;
      damaged.erase(at, 4);
      parseText(damaged);
    }
  }
  CHECK(true);  // reaching this place is the test
}
