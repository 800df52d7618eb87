#include "runtime/bundle/excerpt.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"
#include "runtime/store/match.h"

namespace expc::bundle {
namespace {

using Numbers = std::map<int64_t, int64_t>;  // old number -> new number

Error keep(Expected<int64_t> made, int64_t& number) {
  if (made) number = *made;
  return made.takeError();
}

/// The run that is asked about, and those that judged before: they count as looks on the other machine too. Of the
/// others' plans nothing is needed but what their ends say; one that does not say it stays a run of which it is not
/// known.
Error addRuns(store::Store& into, const Plan& plan, store::Run run, const Results& results, Numbers& runs) {
  const auto add = [&](int64_t old, const store::Run& one) -> Error {
    TRY(keep(into.addRun(one), runs[old]));
    const store::Outcome killed{store::Outcome::Killed};
    return into.endRun(runs[old], one.ended, one.outcome.value_or(killed), one.judged);
  };
  const std::string plan_json = canonicalJson(plan::toJson(plan));
  for (const store::PastLook& look : results.looks) {
    if (look.run >= run.id) break;
    store::Run before = run;
    using Outcome = store::Outcome;
    before.outcome = Outcome{look.at_look ? Outcome::AtLook : look.said ? Outcome::Complete : Outcome::Interrupted};
    before.judged = look.judged;
    before.plan_json = look.judged ? plan_json : "{}";
    TRY(add(look.run, before));
  }
  run.plan_json = plan_json;
  if (!run.judged && run.outcome) run.judged = store::claimsOf(plan);
  return add(run.id, run);
}

/// Copies records in the order in which they refer to each other: sessions, runs, blocks, trials.
Error addAll(const store::Store& from, store::Store& into, const Plan& plan, store::Run run, const Results& results,
             const Anonymous* hidden) {
  Numbers sessions, blocks, runs;
  for (store::Session session : results.sessions) {
    if (hidden) hidden->apply(session);
    const int64_t old = session.id;
    TRY(keep(into.addSession(std::move(session)), sessions[old]));
  }
  // The run's own session may have no trial that counts.
  run.session = sessions.count(run.session) ? sessions[run.session] : sessions.begin()->second;
  if (hidden)  // names of files and values of variables only explain
    std::erase_if(run.match.data_digests, [](const auto& entry) { return store::isPartKey(entry.first); });
  TRY(addRuns(into, plan, std::move(run), results, runs));
  for (const store::Block& block : results.blocks) {
    store::BlockPlan planned = from.contents().blocks.at(block.id);
    planned.block.session = sessions[block.session];
    TRY(keep(into.addBlock(std::move(planned)), blocks[block.id]));
  }
  for (Trial trial : results.trials) {
    if (hidden) hidden->apply(trial);
    trial.session = sessions[trial.session];
    trial.block = blocks[trial.block];
    const auto at = runs.lower_bound(trial.run);  // a look sees what was measured up to it
    trial.run = at == runs.end() ? runs.rbegin()->second : at->second;
    const int64_t old = trial.id;
    TRY(keep(into.beginTrial(trial), trial.id));
    // Programs may write names of people, so their outputs stay behind if names are hidden.
    if (!hidden) TRY(store::copyOutput(from.folder(), old, into.folder(), trial.id));
    TRY(into.endTrial(trial, {trial.started + trial.seconds, 0}));
  }
  return Error::success();
}

}  // namespace

Error writeExcerpt(const store::Store& from, const Plan& plan, const store::Run& run, const Results& results,
                   const std::string& folder, const Anonymous* hidden) {
  if (results.trials.empty()) return failure("the study has no usable results: run it first");
  std::vector<std::string> messages;
  auto into = TRY(store::Store::openForWriting(folder, messages));
  TRY(into.beginWhole());
  TRY(addAll(from, into, plan, run, results, hidden));
  return into.close();
}

}  // namespace expc::bundle
