#include "runtime/export/course.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/format.h"
#include "runtime/analysis/judgement.h"
#include "runtime/export/table.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/stats/estimators.h"

namespace expc::exports {
namespace {

using analysis::Course;
using analysis::Stay;

/// Bars of the last stays that a line has room for, from the smallest value to the largest.
std::string sparkline(const Course& course) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr size_t kMost = 60;
  if (course.stays.empty()) return "";
  const size_t first = course.stays.size() > kMost ? course.stays.size() - kMost : 0;
  const auto [low, high] = std::minmax_element(course.stays.begin(), course.stays.end(),
                                               [](const Stay& a, const Stay& b) { return a.median < b.median; });
  std::string text;
  for (size_t i = first; i < course.stays.size(); ++i) {
    const double share =
        high->median > low->median ? (course.stays[i].median - low->median) / (high->median - low->median) : 0;
    text += kBars[std::min<size_t>(7, static_cast<size_t>(share * 8))];
  }
  return text;
}

/// The median of the stays in [from, to).
double level(const Course& course, size_t from, size_t to) {
  std::vector<double> medians;
  for (size_t i = from; i < to; ++i) medians.push_back(course.stays[i].median);
  return stats::orderStatistics(medians).estimate().value_or(0);
}

std::string stayText(const Stay& stay) {
  std::string text = timeText({stay.started}).substr(0, 16) + " on " + stay.host;
  if (!stay.data.empty()) text += ", program or data " + stay.data.substr(0, 12);
  return text + ", worker " + stay.build;
}

struct ChangeView {
  const Stay *last, *first;  // before the change, and after it
  double before, after;
  bool worse;
};

ChangeView viewOf(const Course& course, size_t number) {
  const size_t at = course.changes[number].at;
  const size_t from = number == 0 ? 0 : course.changes[number - 1].at;
  const size_t to = number + 1 < course.changes.size() ? course.changes[number + 1].at : course.stays.size();
  ChangeView view{&course.stays[at - 1], &course.stays[at], level(course, from, at), level(course, at, to), false};
  view.worse = course.lower_is_better == (view.after > view.before);
  return view;
}

class CoursePrinter : report::TerminalText {
 public:
  CoursePrinter(unsigned width, bool colour) : TerminalText(width, colour) {}

  std::string print(const plan::Plan& plan, const std::vector<Course>& courses, bool all) {
    out_ += paint_.bold("history of study " + report::printable(plan.study)) + '\n';
    size_t quiet = 0;
    for (const Course& course : courses) {
      if (course.changes.empty() && course.lost.empty() && !all)
        ++quiet;
      else
        printCourse(course);
    }
    out_ += '\n';
    const auto without = std::ranges::count_if(courses, [](const Course& one) { return !one.lost.empty(); });
    line(fmt::format(
             "{} changed of {} (Holm over all at {}; a value is a session's median, and fewer than 8 show "
             "nothing){}{}",
             std::count_if(courses.begin(), courses.end(), [](const Course& one) { return !one.changes.empty(); }),
             courses.size(), analysis::formatConfidence(analysis::kConfidence),
             without > 0 ? fmt::format("; {} without a value in the newest session", without) : "",
             quiet > 0 ? "; --all shows the others" : ""),
         0, 2);
    return std::move(out_);
  }

 private:
  void printCourse(const Course& course) {
    out_ += '\n';
    const auto quantity = [&](double value) { return analysis::formatQuantity(value, course.unit, course.dimension); };
    line(paint_.bold(report::printable(course.metric)) + " at " + report::printable(course.label) +
             fmt::format(": {}, {}", report::counted(course.stays.size(), "session"),
                         course.stays.empty() ? "no value"
                                              : quantity(course.stays.back().median) +
                                                    (course.lost.empty() ? " now" : " in the last that has a value")),
         0, 4);
    if (!course.lost.empty())
      line(paint_.red(fmt::format("{} since then without a value: ", report::counted(course.lost.size(), "session"))) +
               report::printable(course.lost.back().reason),
           2, 4);
    line(sparkline(course), 2, 2);
    for (size_t i = 0; i < course.changes.size(); ++i) {
      const ChangeView view = viewOf(course, i);
      const std::string word = view.worse ? paint_.red("worse") : paint_.green("better");
      line(fmt::format("{}: {} → {}, p = {:.2g}", word, quantity(view.before), quantity(view.after),
                       course.changes[i].p),
           2, 4);
      line("between " + report::printable(stayText(*view.last)), 6, 8);
      line("and     " + report::printable(stayText(*view.first)), 6, 8);
    }
  }
};

}  // namespace

std::string courseText(const plan::Plan& plan, const std::vector<Course>& courses, bool all, unsigned width,
                       bool colour) {
  return CoursePrinter(width, colour).print(plan, courses, all);
}

llvm::json::Value courseJson(const plan::Plan& plan, const std::vector<Course>& courses) {
  llvm::json::Array array;
  for (const Course& course : courses) {
    llvm::json::Array stays, changes, lost;
    for (const analysis::Lost& one : course.lost)
      lost.push_back(llvm::json::Object{
          {"started", timeText({one.started})}, {"session", one.session}, {"reason", plan::jsonText(one.reason)}});
    for (const Stay& stay : course.stays)
      stays.push_back(llvm::json::Object{{"started", timeText({stay.started})},
                                         {"session", stay.session},
                                         {"host", plan::jsonText(stay.host)},
                                         {"worker_build", plan::jsonText(stay.build)},
                                         {"data_digest", plan::jsonText(stay.data)},
                                         {"n", stay.n},
                                         {"median", stay.median}});
    for (size_t i = 0; i < course.changes.size(); ++i) {
      const ChangeView view = viewOf(course, i);
      changes.push_back(llvm::json::Object{{"at", static_cast<int64_t>(course.changes[i].at)},
                                           {"before", view.before},
                                           {"after", view.after},
                                           {"worse", view.worse},
                                           {"p", course.changes[i].p}});
    }
    array.push_back(llvm::json::Object{{"metric", plan::jsonText(course.metric)},
                                       {"label", plan::jsonText(course.label)},
                                       {"unit", plan::jsonText(course.unit)},
                                       {"environment_class", plan::jsonText(course.environment_class)},
                                       {"p", course.p},
                                       {"stays", std::move(stays)},
                                       {"changes", std::move(changes)},
                                       {"lost", std::move(lost)}});
  }
  return llvm::json::Object{
      {"schema", "expc.history/1"}, {"study", plan::jsonText(plan.study)}, {"courses", std::move(array)}};
}

}  // namespace expc::exports
