#include "compiler/diag/render.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>
#include <type_traits>

#include "runtime/base/printable.h"

using namespace expc;
using namespace expc::diag;

namespace {

Diagnostic make(source::Range range, std::string message = "wrong") {
  return {Kind::SyntaxError, Severity::Error, range, std::move(message), {}, {}};
}

/// The column of the first caret and the number of marks in the second line of a rendered snippet.
std::pair<size_t, size_t> carets(const std::string& text) {
  size_t line = text.find('\n', text.find('\n') + 1) + 1;
  std::string marks = text.substr(line, text.find('\n', line) - line);
  size_t caret = marks.find('^');
  return {caret - std::string("      | ").size(), marks.size() - caret};
}

}  // namespace

TEST_CASE("a diagnostic is shown with its place, line and carets") {
  source::SourceManager sources;
  auto file = sources.add("a.exp", "study x {\n  factor gpus\n}\n");
  CHECK(renderText(sources, make({file, 12, 18}), false) ==
        "a.exp:2:3: error[E0101]: wrong\n"
        "    2 |   factor gpus\n"
        "      |   ^~~~~~\n");
}

TEST_CASE("carets stand right after tabs, wide and combining characters") {
  source::SourceManager sources;
  auto tabs = sources.add("a", "\tab\tcd");
  CHECK(carets(renderText(sources, make({tabs, 4, 6}), false)) == std::pair<size_t, size_t>{8, 2});
  auto wide = sources.add("b", "\"日本\" x");  // two characters of three bytes and two columns
  CHECK(carets(renderText(sources, make({wide, 9, 10}), false)) == std::pair<size_t, size_t>{7, 1});
  auto narrow = sources.add("c", "\"é\" x");
  CHECK(carets(renderText(sources, make({narrow, 5, 6}), false)) == std::pair<size_t, size_t>{4, 1});
  auto combining = sources.add("d", "\"e\xCC\x81\" x");
  CHECK(carets(renderText(sources, make({combining, 6, 7}), false)) == std::pair<size_t, size_t>{4, 1});
}

TEST_CASE("carets stay on the first line of a range, and at the end of the file") {
  source::SourceManager sources;
  auto file = sources.add("a", "abc\ndef");
  CHECK(carets(renderText(sources, make({file, 1, 6}), false)) == std::pair<size_t, size_t>{1, 2});
  CHECK(carets(renderText(sources, make({file, 7, 7}), false)) == std::pair<size_t, size_t>{3, 1});
}

TEST_CASE("long lines are cut around the carets") {
  source::SourceManager sources;
  std::string text(5000, 'a');
  text[3000] = 'b';
  auto file = sources.add("a", text);
  std::string shown = renderText(sources, make({file, 3000, 3001}), false);
  size_t line = shown.find('\n') + 1;
  std::string source_line = shown.substr(line, shown.find('\n', line) - line);
  CHECK(source_line.size() < 200);
  // The ellipsis for the cut text has three bytes but takes one column.
  CHECK(source_line.find('b') - 2 - std::string("      | ").size() == carets(shown).first);
}

TEST_CASE("text cannot steer the terminal") {
  source::SourceManager sources;
  auto file = sources.add("a", "x \x1b[2J \xff y");
  std::string shown = renderText(sources, make({file, 0, 1}), false);
  CHECK(shown.find('\x1b') == std::string::npos);
  CHECK(shown.find('\xff') == std::string::npos);
}

TEST_CASE("notes and fixes follow, colour only when asked for") {
  source::SourceManager sources;
  auto file = sources.add("a", "abc def");
  Diagnostic diagnostic = make({file, 0, 3});
  diagnostic.notes.push_back({{file, 4, 7}, "declared here"});
  diagnostic.notes.push_back({{}, "nothing else"});
  diagnostic.fixes.push_back({{file, 0, 3}, "abd"});
  diagnostic.fixes.push_back({{file, 3, 3}, ";"});
  diagnostic.fixes.push_back({{file, 4, 7}, ""});
  diagnostic.fixes.push_back({{file, 4, 7}, "deg", Applicability::Guess});  // a note has said it
  std::string plain = renderText(sources, diagnostic, false);
  CHECK(plain.find("deg") == std::string::npos);
  CHECK(plain.find("a:1:5: note: declared here\n    1 | abc def\n      |     ^~~\n") != std::string::npos);
  CHECK(plain.find("\nnote: nothing else\n") != std::string::npos);
  CHECK(plain.find("help: replace `abc` by `abd`\nhelp: insert `;`\nhelp: remove `def`\n") != std::string::npos);
  CHECK(renderText(sources, diagnostic, true).find("\x1b[1;31m") != std::string::npos);
}

TEST_CASE("JSON names every part") {
  source::SourceManager sources;
  auto file = sources.add("a", "é bc\n");
  Diagnostic diagnostic = make({file, 3, 5});
  diagnostic.notes.push_back({{}, "why"});
  diagnostic.fixes.push_back({{file, 3, 5}, "x"});
  llvm::json::Value expected = *llvm::json::parse(R"({
    "code": "E0101", "slug": "syntax-error", "severity": "error", "message": "wrong", "file": "a",
    "range": {"begin": {"line": 1, "column": 3, "offset": 3}, "end": {"line": 1, "column": 5, "offset": 5}},
    "notes": [{"message": "why"}],
    "fixes": [{"replacement": "x", "applicability": "certain", "file": "a",
      "range": {"begin": {"line": 1, "column": 3, "offset": 3}, "end": {"line": 1, "column": 5, "offset": 5}}}]})");
  CHECK(renderJson(sources, diagnostic) == expected);
  Diagnostic placeless = make({});
  CHECK(renderJson(sources, placeless).getAsObject()->get("range") == nullptr);
}

TEST_CASE("diagnostics are sorted by place and told once") {
  source::FileId first{0}, second{1};
  Collector said;
  for (const Diagnostic& diagnostic : {make({second, 1, 2}, "c"), make({first, 5, 6}, "b"), make({first, 1, 2}, "a"),
                                       make({first, 1, 2}, "z"), make({first, 1, 2}, "a"), make({}, "whole")})
    said.add(diagnostic);
  sortByPlace(said.diagnostics);
  std::string order;
  for (const Diagnostic& diagnostic : said.diagnostics) order += diagnostic.message + " ";
  CHECK(order == "whole a z b c ");
}

TEST_CASE("of many mistakes the first are told, and what others could have meant is not looked for") {
  Collector said;
  Emitter emitter(said);
  size_t asked = 0;
  const Candidates known = [&] {
    ++asked;
    return std::vector<std::string>{"known"};
  };
  for (int time = 0; time < 2; ++time)
    for (uint32_t at = 0; at < 1000; ++at) unknownName(emitter, {{0}, at, at + 1}, "name", "knwn", known);
  CHECK(emitter.errors() == 2000);
  CHECK(said.diagnostics.size() == kMostTold);
  CHECK(asked == kMostTold);
  for (const Diagnostic& diagnostic : said.diagnostics) CHECK(diagnostic.fixes.at(0).replacement == "known");
}

TEST_CASE("an error is told however many warnings come before it") {
  EXPC_DIAGNOSTIC(UselessRule, "useless");
  EXPC_DIAGNOSTIC(SyntaxError, "wrong");
  Collector said;
  Emitter emitter(said);
  for (uint32_t at = 0; at < 1000; ++at) emitter.emit({{0}, at, at + 1}, UselessRule);
  for (uint32_t at = 0; at < 1000; ++at) emitter.emit({{0}, at, at + 1}, SyntaxError);
  CHECK(said.diagnostics.size() == kMostTold + 1);
  CHECK(said.diagnostics.back().severity == Severity::Error);
}

TEST_CASE("codes and names are unique and well formed") {
  std::set<std::string_view> codes, slugs;
  for (Kind kind : allKinds()) {
    CHECK(codes.insert(code(kind)).second);
    CHECK(slugs.insert(slug(kind)).second);
    CHECK(code(kind).size() == 5);
    CHECK((code(kind)[0] == 'E' || code(kind)[0] == 'W'));
  }
}

TEST_CASE("the closest name is suggested only when it is near") {
  std::vector<std::string> names = {"precision", "gpus", "batch", "size"};
  CHECK(closest("precison", names) == "precision");
  CHECK(closest("Gpus", names) == "gpus");
  CHECK(closest("gpu", names) == "gpus");
  CHECK_FALSE(closest("loader", names).has_value());
  CHECK_FALSE(closest("x", {"y"}).has_value());
  CHECK_FALSE(closest("", names).has_value());
}

TEST_CASE("UTF-8 is judged strictly") {
  CHECK(base::printable("aé日😀") == "aé日😀");
  CHECK(base::printable("\x80") == "\uFFFD");
  CHECK(base::printable("\xC0\x80") == "\uFFFD\uFFFD");
  CHECK(base::printable("\xED\xA0\x80") == "\uFFFD\uFFFD\uFFFD");
  CHECK(base::printable("\xF4\x90\x80\x80") == "\uFFFD\uFFFD\uFFFD\uFFFD");
  CHECK(base::printable("\xE6\x97") == "\uFFFD");
}

TEST_CASE("a refusal is false, and nothing of any type") {
  Collector collector;
  Emitter emitter(collector);
  const auto flag = [&]() -> bool { return emitter.emit({}, DuplicateName, "factor", "a"); };
  const auto number = [&]() -> std::optional<double> { return emitter.emit({}, DuplicateName, "factor", "b"); };
  CHECK_FALSE(flag());
  CHECK_FALSE(number().has_value());
  CHECK(emitter.errors() == 2);
  CHECK(collector.diagnostics.size() == 2);
  static_assert(!std::is_convertible_v<Refusal, double>);
}
