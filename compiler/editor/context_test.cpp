#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "compiler/editor/features.h"

using namespace expc;
using editor::Context;
using parse::Rule;

namespace {

/// The context at the `|` of a text, which is taken out.
struct Asked {
  explicit Asked(std::string text) {
    const size_t at = text.find('|');
    text.erase(at, 1);
    const source::FileId file = sources.add("a.exp", text);
    context = editor::contextAt(sources, parse::tokens(sources, file), uint32_t(at));
  }
  std::string statement() const {
    std::string text;
    for (const parse::LexedToken& token : context.statement)
      text += (text.empty() ? "" : " ") + std::string(sources.text(token.range));
    return text;
  }
  std::string word() const { return std::string(sources.text(context.word)); }

  source::SourceManager sources;
  Context context;
};

}  // namespace

TEST_CASE("blocks are told from what opens them") {
  CHECK(Asked("|").context.block == Rule::File);
  CHECK(Asked("study s { |").context.block == Rule::StudyBody);
  CHECK(Asked("study s { workload a.b() factor x in { 1, 2 } | }").context.block == Rule::StudyBody);
  CHECK(Asked("study s { } |").context.block == Rule::File);
  CHECK(Asked("workload w command [\"a\"] timeout 2h { | }").context.block == Rule::WorkloadBody);
  CHECK(Asked("study s { design { | } }").context.block == Rule::DesignBody);
  CHECK(Asked("study s { design { timed { | } } }").context.block == Rule::KindBody);
  CHECK(Asked("study s { preset p { design { timed { } } | } }").context.block == Rule::PresetBody);
  CHECK(Asked("preset p { | }").context.block == Rule::PresetBody);
  CHECK(Asked("enum e { | }").context.in_enum);
  CHECK(Asked("ordered enum e { | }").context.in_enum);
  CHECK(Asked("system s { | }").context.block == Rule::SystemBody);
  CHECK(Asked("reference r from \"x.csv\" { | }").context.block == Rule::ReferenceBody);
  CHECK(Asked("study s { factor x in { | } }").context.block == Rule::StudyBody);
}

TEST_CASE("a statement begins with its head") {
  CHECK(Asked("study s { measure a factor x in { 1, | } }").statement() == "factor x in { 1 ,");
  CHECK(Asked("study s { workload a.b(size = |\n factor x }").statement() == "workload a . b ( size =");
  CHECK(Asked("study s { workload a.b(size = \n factor |").statement() == "factor");
  CHECK(Asked("study s { plot x over workload by | }").statement() == "plot x over workload by");
  CHECK(Asked("study s { criterion c: forall *: x[workload = a] >= | }").statement() ==
        "criterion c : forall * : x [ workload = a ] >=");
  CHECK(Asked("study s { preset p { remove criterion | } }").statement() == "remove criterion");
  CHECK(Asked("study s { preset p { size = 3px\n width = | } }").statement() == "width =");
  CHECK(Asked("preset p { only x in { 1 } size = 3px width = | }").statement() == "width =");
  CHECK(Asked("preset p { criterion c: forall *: x like | }").statement() == "criterion c : forall * : x like");
  CHECK(Asked("study s { design { seed 7  order | } }").statement() == "order");
  CHECK(Asked("study s { design {  repeat | } }").statement() == "repeat");
  CHECK(Asked("study s {\n factor x in {\nstudy t {\n measure | }").statement() == "measure");
}

TEST_CASE("the word that is typed is not part of the statement") {
  const Asked asked("study s { factor pre|cision in { a } }");
  CHECK(asked.statement() == "factor");
  CHECK(asked.word() == "pre");
  CHECK(Asked("study s { fac|").word() == "fac");
  CHECK(Asked("let a = 40Gi|").word() == "40Gi");
  CHECK(Asked("let a = | 40").word().empty());
}

TEST_CASE("comments and texts") {
  CHECK(Asked("// a |").context.inside == Context::Inside::Comment);
  CHECK(Asked("let a = 1 // b|\nlet b = 2").context.inside == Context::Inside::Comment);
  CHECK(Asked("// a\n|").context.inside == Context::Inside::Code);
  CHECK(Asked("import \"a|b\"").context.inside == Context::Inside::Text);
  CHECK(Asked("import \"a|\nlet").context.inside == Context::Inside::Text);
  CHECK(Asked("import \"ab\" |").context.inside == Context::Inside::Code);
}

TEST_CASE("lines") {
  CHECK(Asked("study s {\n  fac|").context.line_start);
  CHECK(Asked("study s {\n  |").context.line_start);
  CHECK(!Asked("study s { |").context.line_start);
}

TEST_CASE("what may come next is what the grammar says") {
  const auto next = [](const char* text, parse::Token token) {
    const std::vector<parse::Token> expected = Asked(text).context.expected;
    return std::find(expected.begin(), expected.end(), token) != expected.end();
  };
  using parse::Token;
  CHECK(next("study s { factor x |", Token::In));
  CHECK(next("study s { factor x in 1..4 |", Token::Baseline));
  CHECK(next("study s { factor x in 1..4 |", Token::By));
  CHECK(!next("study s { factor x in 1..4 by 2 |", Token::By));
  CHECK(next("study s { factor x in { 1 } |", Token::Measure));
  CHECK(next("study s { criterion c: forall *: x >= 1 with |", Token::Confidence));
  CHECK(!next("study s { criterion c: forall *: x >= 1 with |", Token::Measure));
  CHECK(next("study s { factor x in\n  plot y |", Token::Over));
  CHECK(next("preset p { remove |", Token::Criterion));
}
