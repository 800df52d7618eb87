// `expc compare --by session`: how metrics develop over sessions, as a document. Changes of level, drifts and outlying
// sessions were found by analysis/course; this file puts them into words, a line of bars and JSON, and decides the exit
// code. A stay is one session on one machine with one build and one set of data; a course is the sequence of stays for
// one metric at one point.

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/numbers.h"
#include "runtime/base/text.h"
#include "runtime/export/sides.h"
#include "runtime/export/table.h"
#include "runtime/judge/results.h"
#include "runtime/stats/estimators.h"

namespace expc::exports {
namespace {

using describe::Course;
using describe::Stay;
using json::Object;

/// Returns a bar for each of the last 60 stays, scaled from the smallest to the largest median of the whole course.
std::string sparkline(const Course& course) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr size_t kMost = 60;
  if (course.stays.empty()) return "";
  const size_t first = course.stays.size() > kMost ? course.stays.size() - kMost : 0;
  const auto [low, high] = std::ranges::minmax(course.stays, {}, &Stay::median);
  std::string text;
  for (size_t i = first; i < course.stays.size(); ++i) {
    const double median = course.stays[i].median;
    const double share = median > low.median ? (median - low.median) / (high.median - low.median) : 0;
    // With infinite values the share is nan, which fails the comparison and takes the highest bar.
    text += kBars[share < 1 ? size_t(share * 8) : 7];
  }
  return text;
}

/// Returns the median of the stays of one level: from change `number - 1` (0: the first stay) to change `number` (or
/// the last stay).
double level(const Course& course, size_t number) {
  const size_t from = number == 0 ? 0 : course.changes[number - 1].at;
  const size_t to = number < course.changes.size() ? course.changes[number].at : course.stays.size();
  std::vector<double> medians;
  for (size_t i = from; i < to; ++i) medians.push_back(course.stays[i].median);
  return stats::medianOf(medians).value_or(0);
}

/// Describes a stay: when, where, and with which data and worker, which are the first suspects for a change.
std::string stayText(const Stay& stay) {
  std::string text = timeText({stay.started}).substr(0, 16) + " on " + stay.host;
  if (!stay.data.empty()) text += fmt::format(", program or data {}", stay.data.substr(0, 12));
  return text + ", worker " + stay.build;
}

/// Returns a stay for programs: its median if it has values, else why it has none.
Object stayJson(const std::vector<std::string>& sides, const Stay& one) {
  Object object = base::record("started", timeText({one.started}), "side", sides[one.side],
                               EXPC_NAMED(one, session, host), "worker_build", one.build, "data_digest", one.data);
  if (one.n > 0) {
    object["n"] = one.n;
    object["median"] = base::jsonNumber(one.median);
    object["timeouts"] = one.timeouts;
    object["diverged"] = one.diverged;
  } else {
    object["reason"] = jsonText(one.reason);
    object["disturbed"] = one.disturbed;
  }
  return object;
}

/// Whether the newest sessions have no value, and at least one of them for a reason other than a disturbance.
bool failsNow(const Course& course) { return !std::ranges::all_of(course.lost, &Stay::disturbed); }

/// A count of a stay's worst values, those that rank below every number: timeouts, or diverged values.
using Sort = unsigned Stay::*;
/// Whether the newest stay with values has such values.
bool isWorstNow(const Course& course, Sort sort) { return !course.stays.empty() && course.stays.back().*sort > 0; }
bool timesOutNow(const Course& course) { return isWorstNow(course, &Stay::timeouts); }

/// Returns the line about newest sessions without a value, with the reason of the newest one that explains it.
report::Paragraph lostLine(const Course& course) {
  const bool fails = failsNow(course);
  const auto said = std::ranges::find(course.lost.rbegin(), course.lost.rend(), !fails, &Stay::disturbed);
  return {.text = (fails ? "" : "every trial was disturbed: ") + said->reason,
          .word = fmt::format("{} since then without a value:", base::counted(course.lost.size(), "session")),
          .style = fails ? "fail" : "open",
          .depth = 1};
}

/// Returns the line that counts values of one sort over all sessions, and in the newest.
report::Paragraph worstLine(const Course& course, Sort sort, const char* word) {
  size_t sessions = 0, trials = 0;
  for (const Stay& stay : course.stays) {
    sessions += stay.*sort > 0;
    trials += stay.*sort;
  }
  std::string text = base::counted(trials, "trial") + " in " + base::counted(sessions, "session");
  const bool now = isWorstNow(course, sort);
  if (now)
    text += fmt::format(", {} of {} in the newest{}", course.stays.back().*sort, course.stays.back().n,
                        course.lost.empty() ? "" : " that has a value");
  return {.text = text, .word = word, .style = now ? "fail" : "open", .depth = 1};
}

/// Whether a change is for worse; absent if the metric does not say which direction is better.
std::optional<bool> isWorse(const Course& course, double before, double after) {
  if (!course.better) return std::nullopt;
  return (*course.better == plan::Direction::Lower) == (after > before);
}

/// Formats a value of the course with its unit.
std::string quantity(const Course& course, double value) {
  return base::formatQuantity(value, course.unit, course.dimension);
}

/// Returns the line about a change: "worse: 100 ms → 108 ms, p = 0.0002", "drift, worse: …", "changed: …".
report::Paragraph movedLine(const Course& course, double before, double after, const std::string& how,
                            const std::string& what) {
  report::Paragraph line{.text = fmt::format("{} → {}, {}", quantity(course, before), quantity(course, after), how),
                         .word = what + ":",
                         .style = "open",
                         .depth = 1};
  if (const auto worse = isWorse(course, before, after)) {
    const std::string way = *worse ? "worse:" : "better:";
    line.word = what == "changed" ? way : what + ", " + way;
    line.style = *worse ? "fail" : "pass";
  }
  return line;
}

/// Whether the newest session is outlying for worse. One session alone cannot tell a new level from a disturbance, so
/// this is not yet a change.
bool worseNow(const Course& course) { return course.outlying && course.outlying->worse.value_or(false); }

/// Returns the line about newest sessions that lie beyond all others.
report::Paragraph outlyingLine(const Course& course) {
  const auto& [sessions, usual, worse] = *course.outlying;
  const std::string who =
      sessions == 1 ? "the newest session lies" : fmt::format("the newest {} sessions lie", sessions);
  return {.text = fmt::format("{} beyond all others: {}, where their median is {}; further sessions tell a new level "
                              "from a disturbance",
                              who, quantity(course, course.stays.back().median), quantity(course, usual)),
          .word = !worse   ? "outlying:"
                  : *worse ? "outlying, worse:"
                           : "outlying, better:",
          .style = worseNow(course) ? "fail" : "open",
          .depth = 1};
}

/// Adds a course to the section: its lines if it is `shown`, its object in any case.
void add(Section& section, const std::vector<std::string>& sides, const Course& course, bool shown) {
  // The newest value may be older than the newest session, which then had none.
  const std::string newest = course.stays.empty()
                                 ? "no value"
                                 : quantity(course, course.stays.back().median) +
                                       (course.lost.empty() ? " now" : " in the last that has a value");
  const std::string gaps =
      course.gaps > 0 ? "; " + base::counted(course.gaps, "earlier session") + " without a value" : "";
  std::vector<report::Paragraph> lines = {{.text = base::counted(course.stays.size(), "session") + ", " + newest + gaps,
                                           .of = course.metric + " at " + course.label}};
  if (!course.lost.empty()) lines.push_back(lostLine(course));
  for (const auto& [sort, word] : {std::pair(&Stay::timeouts, "timed out:"), std::pair(&Stay::diverged, "diverged:")})
    if (std::ranges::any_of(course.stays, [&](const Stay& stay) { return stay.*sort > 0; }))
      lines.push_back(worstLine(course, sort, word));
  lines.push_back({.text = sparkline(course), .depth = 1});
  std::vector<Object> stays, changes, lost;
  for (size_t i = 0; i < course.changes.size(); ++i) {
    const auto [at, p] = course.changes[i];
    const double before = level(course, i), after = level(course, i + 1);
    const std::optional<bool> worse = isWorse(course, before, after);
    lines.push_back(movedLine(course, before, after, fmt::format("p = {:.2g}", p), "changed"));
    lines.push_back({.text = "between " + stayText(course.stays[at - 1]), .depth = 2});
    lines.push_back({.text = "and " + stayText(course.stays[at]), .depth = 2});
    changes.push_back(base::record("at", at, "before", before, "after", after, "worse", worse, "p", p));
  }
  // Members of the document are always there, null if not found.
  std::optional<Object> drift, outlying;
  if (course.drift) {
    const auto& [p, before, after, or_step] = *course.drift;
    const std::optional<bool> worse = isWorse(course, before, after);
    lines.push_back(movedLine(course, before, after,
                              fmt::format("medians of the first and the last third of the sessions, p = {:.2g}", p),
                              or_step ? "drift or step" : "drift"));
    if (or_step)
      lines.push_back(
          {.text = "these sessions cannot show whether it is a drift or a step between two of them", .depth = 2});
    drift = base::record("before", before, "after", after, "worse", worse, "p", p, "or_step", or_step);
  }
  if (course.outlying) {
    const auto& [sessions, usual, worse] = *course.outlying;
    lines.push_back(outlyingLine(course));
    outlying = base::record("sessions", sessions, "usual", usual, "worse", worse);
  }
  if (shown) append(section.part.blocks, std::move(lines));
  for (const Stay& stay : course.stays) stays.push_back(stayJson(sides, stay));
  for (const Stay& stay : course.lost) lost.push_back(stayJson(sides, stay));
  section.json.push_back(base::record(EXPC_NAMED(course, metric, label, unit, environment_class, p), "stays", stays,
                                      "changes", changes, "drift", drift, "outlying", outlying, "lost", lost, "gaps",
                                      course.gaps));
}

}  // namespace

Document bySession(const Plan& plan, const std::vector<std::string>& sides, const std::vector<Course>& courses,
                   bool all) {
  Section section{{"courses"}};
  size_t changed = 0, drifting = 0, outlying = 0, without = 0, timed_out = 0, quiet = 0;
  Verdict outcome = Verdict::NotAsked;
  for (const Course& course : courses) {
    // Without --all only courses with something to say are listed; the others are counted.
    const bool shown = all || !course.changes.empty() || course.drift || course.outlying || !course.lost.empty() ||
                       timesOutNow(course) || isWorstNow(course, &Stay::diverged);
    changed += !course.changes.empty();
    drifting += course.drift.has_value();
    outlying += course.outlying.has_value();
    without += !course.lost.empty();
    timed_out += timesOutNow(course);
    quiet += !shown;
    // A course without values since trials failed breaks the whole; otherwise something open leaves it undecided.
    // Changes themselves decide nothing: a trend is a description.
    if (failsNow(course))
      outcome = Verdict::Broken;
    else if ((!course.lost.empty() || worseNow(course)) && outcome == Verdict::NotAsked)
      outcome = Verdict::Inconclusive;
    add(section, sides, course, shown);
  }
  // The condition of the test stands beside its counts: Holm's correction over all courses.
  section.part.rest = fmt::format(
      "{} of {} values changed level (session medians; Holm-corrected at {}; at least {} sessions are needed)", changed,
      courses.size(), base::formatConfidence(judge::kConfidence), stats::kLeastCourse);
  const auto also = [&](size_t count, std::string_view text) {
    if (count > 0) section.part.rest += fmt::format("; {} {}", count, text);
  };
  also(drifting, "with a drift");
  also(outlying, "outlying in the newest session");
  also(without, "without a value in the newest session");
  also(timed_out, "with timeouts in the newest session that has a value");
  if (quiet > 0) section.part.rest += "; --all lists the others";
  Document document(plan, sides, outcome);
  document.title += fmt::format("{} by session", base::joined(sides));
  document.sections = {std::move(section)};
  return document;
}

}  // namespace expc::exports
