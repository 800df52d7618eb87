// JUnit's XML, which CI systems show as test results: a case for each criterion and for each missing thing. The format
// has no word for "undecided", so that is an error: a gate then stops, and the difference from a failure stays visible.
// Checked against the schema of Jenkins (junit-10.xsd).

#include <algorithm>
#include <array>

#include "runtime/base/files/marks.h"
#include "runtime/base/format.h"
#include "runtime/base/text.h"
#include "runtime/export/formats.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/html_text.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {
namespace {

using judge::Answer;

/// Numbers of cases by judge::Answer, criteria and missing things together.
using Counts = std::array<size_t, 4>;

/// Counts the cases of a study.
Counts count(const Source& source) {
  Counts counts{};
  for (const auto& result : source.judgement.criteria) ++counts[size_t(judge::meaningOf(result).answer)];
  for (const auto& missing : source.judgement.missing) ++counts[size_t(judge::meaningOf(missing.verdict).answer)];
  return counts;
}

/// Returns the attributes that suites and their root share. Skipped cases are numbered only in suites: the schema knows
/// no such attribute above them.
std::string numbers(const Counts& counts) {
  const auto of = [&](Answer answer) { return counts[size_t(answer)]; };
  return fmt::format(R"(tests="{}" failures="{}" errors="{}")", counts[0] + counts[1] + counts[2] + counts[3],
                     of(Answer::Fails), of(Answer::Undecided));
}

/// Returns a case. `verdict` is the outcome in one line, `lines` everything that is to be said about it. A passed case
/// has no element, only output.
std::string testCase(const Source& source, const std::string& name, const judge::Meaning& meaning,
                     const std::string& verdict, const std::string& lines) {
  static constexpr const char* kElements[] = {"", "failure", "error", "skipped"};  // by judge::Answer
  std::string out = fmt::format("    <testcase classname=\"{}\" name=\"{}\">\n", xml(source.plan.study), xml(name));
  const char* element = kElements[size_t(meaning.answer)];
  if (meaning.answer == Answer::NotAsked)
    out += fmt::format("      <{} message=\"{}\"/>\n", element, xml(verdict));
  else if (meaning.answer != Answer::Holds)
    out += fmt::format("      <{0} type=\"{1}\" message=\"{2}\">{3}</{0}>\n", element,
                       meaning.answer == Answer::Fails      ? meaning.word
                       : meaning.verdict == Verdict::Broken ? "broken"
                                                            : "undecided",
                       xml(verdict), xml(lines));
  return out + "      <system-out>" + xml(lines) + "</system-out>\n    </testcase>\n";
}

/// Returns the case of a criterion.
std::string testCase(const Source& source, const report::Judged& judged) {
  const auto& [plan, criterion, result] = judged;
  std::string lines = criterion.text + "\n";
  for (const report::Fact& one : report::verdictFacts(source.findings(), judged))
    lines += one.label + ": " + one.text + "\n";
  // Everything that the report says of it, so that a CI log needs no other file.
  for (const auto& cell : result.cells) lines += report::cellLine(plan, criterion, cell) + "\n";
  return testCase(source, result.name, judge::meaningOf(result),
                  report::markedVerdict(result) + base::framed(": ", report::whyText(judged)), lines);
}

/// Returns the suite of a study. Its time is the sum over trials that count, its machine that of the newest session.
std::string suite(const Source& source) {
  double seconds = 0;
  for (const Trial& trial : source.results.trials) seconds += trial.seconds;
  const Counts counts = count(source);
  std::string out = fmt::format("  <testsuite name=\"{}\" {} skipped=\"{}\" time=\"{:.3f}\"", xml(source.plan.study),
                                numbers(counts), counts[size_t(Answer::NotAsked)], seconds);
  if (!source.results.sessions.empty()) {
    const auto newest = std::ranges::max_element(source.results.sessions, {}, &store::Session::id);
    // The schema wants a time without fraction and zone; ours is UTC.
    out += fmt::format(" timestamp=\"{}\" hostname=\"{}\"", timeText({newest->last_seen.wall}).substr(0, 19),
                       xml(newest->where.machine()));
  }
  out += ">\n    <properties>\n";
  const auto property = [&](std::string_view name, std::string_view value) {
    out += fmt::format("      <property name=\"{}\" value=\"{}\"/>\n", name, xml(value));
  };
  // Properties name the plan, so that results of different versions of a study are told apart.
  property("source", source.plan.source);
  property("plan", source.plan.digest);
  property("null_cards", source.judgement.null_cards ? "true" : "false");
  out += "    </properties>\n";
  for (const auto& judged : report::judgedOf(source.plan, source.judgement)) out += testCase(source, judged);
  for (const auto& missing : report::missingThings(source.plan, source.judgement))
    out += testCase(source, missing.what, judge::meaningOf(missing.verdict), report::missingText(missing),
                    report::missingText(missing) + "\n");
  return out + "  </testsuite>\n";
}

}  // namespace

std::string xml(std::string_view text) {
  std::string out = report::html(text);
  // XML 1.0 forbids U+FFFE and U+FFFF, which HTML only discourages; a parser would reject the document.
  for (const std::string_view banned : {"\xef\xbf\xbe", "\xef\xbf\xbf"})
    for (size_t at = 0; (at = out.find(banned, at)) != std::string::npos;) out.replace(at, 3, "\xef\xbf\xbd");
  return out;
}

std::string junit(std::span<const Source> sources) {
  Counts all{};
  std::string suites;
  for (const Source& source : sources) {
    const Counts counts = count(source);
    for (size_t i = 0; i < all.size(); ++i) all[i] += counts[i];
    suites += suite(source);
  }
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{} {}>\n{}</testsuites>\n", files::kJunitMark,
                     numbers(all), suites);
}

}  // namespace expc::exports
