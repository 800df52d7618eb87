#include <fmt/format.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <filesystem>
#include <list>
#include <set>
#include <tuple>

#include "compiler/driver/commands.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/exit_codes.h"
#include "compiler/driver/sides.h"
#include "compiler/driver/verdicts.h"
#include "runtime/export/replication.h"
#include "runtime/plan/json.h"

namespace expc::driver {
namespace {

int codeOf(const std::vector<exports::Replicated>& criteria) {
  const auto any = [&](exports::Replication kind) {
    return std::any_of(criteria.begin(), criteria.end(), [&](const auto& one) { return one.replication == kind; });
  };
  if (any(exports::Replication::Contradicted)) return kSomeFail;
  if (any(exports::Replication::Open)) return kSomeUndecided;
  return any(exports::Replication::Holds) ? kSuccess : kNothingRan;
}

/// Whether a trial of one is one of the other, which is then a copy, a bundle or a merged store of it.
bool shareTrials(const store::Results& one, const store::Results& other) {
  std::set<std::tuple<double, plan::TrialKind, plan::Place>> known;
  for (const store::Trial& trial : one.trials) known.emplace(trial.started, trial.key->kind, trial.place());
  return std::any_of(other.trials.begin(), other.trials.end(), [&](const store::Trial& trial) {
    return known.count({trial.started, trial.key->kind, trial.place()}) != 0;
  });
}

int replicateStudy(const plan::Plan& plan, std::list<Side>& sides, const ReplicateOptions& options,
                   const Console& console) {
  std::list<Side::Found> found;
  std::vector<exports::Place> places;
  for (Side& side : sides) {
    auto results = side.of(plan, console);
    if (!results) return kNothingRan;
    for (const auto& [other, place] : llvm::zip(found, places))
      if (shareTrials(other.results, results->results))
        return console.error(
            fmt::format("{} and {} hold the same trials: a copy replicates nothing", place.name, side.name()));
    found.push_back(std::move(*results));
    places.push_back({side.name(), found.back().judgement});
  }
  const auto criteria = exports::replicate(plan, places);
  const std::string text = options.replication_json
                               ? plan::prettyJson(exports::replicationJson(plan, places, criteria)) + "\n"
                               : exports::replicationText(plan, places, criteria, console.width(), console.colourOut());
  int code = codeOf(criteria);
  for (size_t i = 1; i < places.size(); ++i)
    if (analysis::exitCode(places[i].judgement) == kBroken) code = worse(code, kBroken);
  return console.print(text) ? code : kError;
}

/// Whether two names are one folder.
bool sameFolder(const std::string& one, const std::string& other) {
  std::error_code unknown;
  return std::filesystem::equivalent(one, other, unknown) || one == other;
}

}  // namespace

int replicate(const ReplicateOptions& options, const Console& console) {
  if (options.replication_json && !options.no_run)
    return console.usage("--format json goes with --no-run: run the study first, then ask for the document");
  int code = kSuccess;
  std::list<Side> sides;
  for (const std::string& of : options.of) {
    auto side = Side::open(of, console, code);
    if (!side) return code;
    if (sameFolder(of, options.results))
      return console.usage(
          fmt::format("{} holds the results that are to be replicated; name another folder for the new "
                      "ones with --results DIR",
                      of));
    sides.push_back(std::move(*side));
  }
  if (!options.no_run) {
    code = run(options, console);
    if (code == kError || code == kUsage || code == kInterrupted) return code;
  }
  auto here = Side::open(options.results, console, code);
  if (!here) return code;
  sides.push_back(std::move(*here));
  const auto plans = loadMeasured(options.study, options.machine, options.results, console);
  if (!plans) return plans.code;
  code = kSuccess;
  for (const ChosenPlan& one : *plans) code = worse(code, replicateStudy(one.plan, sides, options, console));
  return code;
}

}  // namespace expc::driver
