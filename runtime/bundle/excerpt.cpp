#include "runtime/bundle/excerpt.h"

#include <map>

#include "runtime/store/files.h"
#include "runtime/store/match.h"

namespace expc::bundle {
namespace {

class Excerpt {
 public:
  Excerpt(const store::Store& from, store::Store& into, const store::Results& results, const Anonymous* hidden)
      : from_(from), into_(into), results_(results), hidden_(hidden) {}

  llvm::Error write(const plan::Plan& plan, store::Run run) {
    for (const store::Session& session : results_.sessions)
      if (auto error = add(session)) return error;
    run.session = sessions_.count(run.session) ? sessions_[run.session] : sessions_.begin()->second;
    if (auto error = addLooks(plan, run)) return error;
    for (const store::Block& block : results_.blocks)
      if (auto error = add(block)) return error;
    for (const store::Trial& trial : results_.trials)
      if (auto error = add(trial)) return error;
    return llvm::Error::success();
  }

 private:
  /// The run that is asked about, and those that judged before: they count as looks on the other machine too. Of the
  /// others' plans nothing is needed but what their ends say; one that does not say it stays a run of which it is not
  /// known.
  llvm::Error addLooks(const plan::Plan& plan, store::Run run) {
    if (hidden_)  // names of files and values of variables, which only explain
      std::erase_if(run.match.data_digests, [](const auto& entry) { return store::isPartKey(entry.first); });
    const std::string plan_json = plan::canonicalJson(plan::toJson(plan));
    for (const store::PastLook& look : results_.looks) {
      if (look.run >= run.id) break;
      store::Run before = run;
      before.outcome = look.at_look ? std::string(store::Run::kAtLook)
                       : look.said  ? std::string(store::Run::kComplete)
                                    : "interrupted";
      before.judged = look.judged;
      before.plan_json = look.judged ? plan_json : "{}";
      if (auto error = add(look.run, std::move(before))) return error;
    }
    run.plan_json = plan_json;
    if (!run.judged && !run.outcome.empty()) run.judged = store::judgedOf(plan);
    return add(run.id, std::move(run));
  }

  llvm::Error add(int64_t old, const store::Run& run) {
    auto number = into_.addRun(run);
    if (!number) return number.takeError();
    runs_[old] = *number;
    return into_.endRun(*number, run.ended, run.outcome, run.judged);
  }

  llvm::Error add(store::Session session) {
    const int64_t old = session.id;
    if (hidden_) hidden_->apply(session);
    auto number = into_.addSession(std::move(session));
    if (!number) return number.takeError();
    sessions_[old] = *number;
    return llvm::Error::success();
  }

  llvm::Error add(const store::Block& block) {
    store::BlockPlan plan = from_.contents().blocks.at(block.id);
    plan.block.session = sessions_[block.session];
    auto number = into_.addBlock(std::move(plan));
    if (!number) return number.takeError();
    blocks_[block.id] = *number;
    return llvm::Error::success();
  }

  llvm::Error add(store::Trial trial) {
    if (hidden_) hidden_->apply(trial);
    trial.session = sessions_[trial.session];
    trial.block = blocks_[trial.block];
    const auto run = runs_.lower_bound(trial.run);  // a look sees what was measured up to it
    trial.run = run == runs_.end() ? runs_.rbegin()->second : run->second;
    auto number = into_.beginTrial(trial);
    if (!number) return number.takeError();
    // Names of people may stand in what programs write.
    if (!hidden_) store::copyOutput(from_.folder(), trial.id, into_.folder(), *number);
    trial.id = *number;
    return into_.endTrial(trial, {trial.started + trial.seconds, 0});
  }

  const store::Store& from_;
  store::Store& into_;
  const store::Results& results_;
  const Anonymous* hidden_;
  std::map<int64_t, int64_t> sessions_, blocks_, runs_;  // old number -> new number
};

}  // namespace

llvm::Error writeExcerpt(const store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden) {
  if (results.trials.empty())
    return llvm::createStringError("nothing was measured that counts for the study: run it first");
  std::vector<std::string> messages;
  auto into = store::Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  if (auto error = into->beginWhole()) return error;
  if (auto error = Excerpt(from, *into, results, hidden).write(plan, run)) return error;
  return into->close();
}

}  // namespace expc::bundle
