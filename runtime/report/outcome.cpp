#include "runtime/report/outcome.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <map>

#include "runtime/report/layout.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using analysis::NextStep;
using analysis::Verdict;

bool isOpen(const analysis::CriterionResult& result) {
  return !result.isFinal() || result.verdict == Verdict::Inconclusive || result.verdict == Verdict::NotRun;
}

/// Criteria that more repetitions would bring further, and how many of each kind they take.
struct More {
  std::map<plan::TrialKind, unsigned> repetitions;
  std::vector<std::string> decided, with_intervals;
};

More moreFor(const plan::Plan& plan, const analysis::Judgement& judgement) {
  More more;
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const auto criterion = std::find_if(plan.criteria.begin(), plan.criteria.end(),
                                        [&](const plan::Criterion& one) { return one.name == result.name; });
    if (!result.next || result.next->reach == NextStep::Reach::OutOfReach || criterion == plan.criteria.end()) continue;
    unsigned& most = more.repetitions[criterion->cells.front().kind];
    most = std::max(most, result.next->repetitions);
    (result.next->reach == NextStep::Reach::Decides ? more.decided : more.with_intervals).push_back(result.name);
  }
  return more;
}

}  // namespace

std::vector<Tally> tallies(const analysis::Judgement& judgement) {
  std::vector<Tally> all;
  for (const analysis::CriterionResult& result : judgement.criteria) {
    const Tally one{
        result.isFinal() ? llvm::StringRef(verdictWord(result.verdict)).lower() : caveatsOf(result).front().mark,
        result.isFinal() ? result.verdict : Verdict::Inconclusive};
    const auto same = std::find_if(all.begin(), all.end(), [&](const Tally& tally) { return tally.word == one.word; });
    if (same == all.end())
      all.push_back(one);
    else
      ++same->count;
  }
  return all;
}

std::string tallyText(const analysis::Judgement& judgement) {
  std::vector<std::string> texts;
  for (const Tally& tally : tallies(judgement)) texts.push_back(fmt::format("{} {}", tally.count, tally.word));
  return joined(texts);
}

std::optional<NextCommand> nextCommand(const plan::Plan& plan, const analysis::Judgement& judgement,
                                       const std::string& folder) {
  if (judgement.null_cards || std::none_of(judgement.criteria.begin(), judgement.criteria.end(), isOpen))
    return std::nullopt;
  if (judgement.unfinished) return NextCommand{repeatCommand(plan, folder), "goes on where the study is"};
  const More more = moreFor(plan, judgement);
  if (!more.repetitions.empty()) {
    std::vector<std::string> gains;
    if (!more.decided.empty()) gains.push_back("would probably decide " + joined(more.decided));
    if (!more.with_intervals.empty()) gains.push_back("gives intervals to " + joined(more.with_intervals));
    return NextCommand{repeatCommand(plan, folder, more.repetitions), joined(gains, ", and ")};
  }
  const bool lacking = std::any_of(judgement.points.begin(), judgement.points.end(),
                                   [](const analysis::PointStatus& status) { return status.lacking; });
  if (!lacking) return std::nullopt;
  return NextCommand{repeatCommand(plan, folder) + " --retry-failed", "tries again what failed, once that is mended"};
}

}  // namespace expc::report
