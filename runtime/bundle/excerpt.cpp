#include "runtime/bundle/excerpt.h"

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "runtime/store/match.h"

namespace expc::bundle {
namespace {

using Numbers = std::map<int64_t, int64_t>;  // old number -> new number

llvm::Error keep(llvm::Expected<int64_t> made, int64_t& number) {
  if (made) number = *made;
  return made.takeError();
}

/// The run that is asked about, and those that judged before: they count as looks on the other machine too. Of the
/// others' plans nothing is needed but what their ends say; one that does not say it stays a run of which it is not
/// known.
llvm::Error addRuns(store::Store& into, const plan::Plan& plan, store::Run run, const store::Results& results,
                    Numbers& runs) {
  const auto add = [&](int64_t old, const store::Run& one) -> llvm::Error {
    if (auto error = keep(into.addRun(one), runs[old])) return error;
    const store::Outcome killed{store::Outcome::Killed};
    return into.endRun(runs[old], one.ended, one.outcome.value_or(killed), one.judged);
  };
  const std::string plan_json = base::canonicalJson(plan::toJson(plan));
  for (const store::PastLook& look : results.looks) {
    if (look.run >= run.id) break;
    store::Run before = run;
    using Outcome = store::Outcome;
    before.outcome = Outcome{look.at_look ? Outcome::AtLook : look.said ? Outcome::Complete : Outcome::Interrupted};
    before.judged = look.judged;
    before.plan_json = look.judged ? plan_json : "{}";
    if (auto error = add(look.run, before)) return error;
  }
  run.plan_json = plan_json;
  if (!run.judged && run.outcome) run.judged = store::claimsOf(plan);
  return add(run.id, run);
}

/// Copies records in the order in which they refer to each other: sessions, runs, blocks, trials.
llvm::Error addAll(const store::Store& from, store::Store& into, const plan::Plan& plan, store::Run run,
                   const store::Results& results, const Anonymous* hidden) {
  Numbers sessions, blocks, runs;
  for (store::Session session : results.sessions) {
    if (hidden) hidden->apply(session);
    const int64_t old = session.id;
    if (auto error = keep(into.addSession(std::move(session)), sessions[old])) return error;
  }
  // The run's own session may have no trial that counts.
  run.session = sessions.count(run.session) ? sessions[run.session] : sessions.begin()->second;
  if (hidden)  // names of files and values of variables only explain
    std::erase_if(run.match.data_digests, [](const auto& entry) { return store::isPartKey(entry.first); });
  if (auto error = addRuns(into, plan, std::move(run), results, runs)) return error;
  for (const store::Block& block : results.blocks) {
    store::BlockPlan planned = from.contents().blocks.at(block.id);
    planned.block.session = sessions[block.session];
    if (auto error = keep(into.addBlock(std::move(planned)), blocks[block.id])) return error;
  }
  for (store::Trial trial : results.trials) {
    if (hidden) hidden->apply(trial);
    trial.session = sessions[trial.session];
    trial.block = blocks[trial.block];
    const auto at = runs.lower_bound(trial.run);  // a look sees what was measured up to it
    trial.run = at == runs.end() ? runs.rbegin()->second : at->second;
    const int64_t old = trial.id;
    if (auto error = keep(into.beginTrial(trial), trial.id)) return error;
    // Programs may write names of people, so their outputs stay behind if names are hidden.
    if (!hidden)
      if (auto error = store::copyOutput(from.folder(), old, into.folder(), trial.id)) return error;
    if (auto error = into.endTrial(trial, {trial.started + trial.seconds, 0})) return error;
  }
  return llvm::Error::success();
}

}  // namespace

llvm::Error writeExcerpt(const store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden) {
  if (results.trials.empty()) return llvm::createStringError("the study has no usable results: run it first");
  std::vector<std::string> messages;
  auto into = store::Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  if (auto error = into->beginWhole()) return error;
  if (auto error = addAll(from, *into, plan, run, results, hidden)) return error;
  return into->close();
}

}  // namespace expc::bundle
