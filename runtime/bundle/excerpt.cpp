#include "runtime/bundle/excerpt.h"

#include <algorithm>
#include <map>

#include "runtime/store/files.h"

namespace expc::bundle {
namespace {

class Excerpt {
 public:
  Excerpt(store::Store& from, store::Store& into, const store::Results& results, const Anonymous* hidden)
      : from_(from), into_(into), results_(results), hidden_(hidden) {}

  llvm::Error write(const plan::Plan& plan, store::Run run) {
    for (const store::Session& session : results_.sessions)
      if (auto error = add(session)) return error;
    run.session = sessions_.count(run.session) ? sessions_[run.session] : sessions_.begin()->second;
    for (const store::PastVerdicts& past : results_.verdicts)
      if (auto error = add(past, plan, run)) return error;
    run.plan_json = plan::canonicalJson(plan::toJson(plan));
    const store::Moment ended = run.ended;
    const std::string outcome = run.outcome;
    auto number = into_.addRun(std::move(run));
    if (!number) return number.takeError();
    run_ = *number;
    for (const store::Block& block : results_.blocks)
      if (auto error = add(block)) return error;
    for (const store::Trial& trial : results_.trials)
      if (auto error = add(trial)) return error;
    return into_.endRun(run_, ended, outcome);
  }

 private:
  /// Verdicts that were given before count as looks on the other machine too. What they were given on is this plan with
  /// the repetitions of then.
  llvm::Error add(const store::PastVerdicts& past, plan::Plan plan, store::Run run) {
    for (plan::KindDesign& design : plan.design.kinds) {
      const auto then = past.repetitions.find(design.kind);
      if (then == past.repetitions.end()) continue;
      design.repeat = design.repeat_most = then->second;
      design.until.clear();
      design.looks.clear();
    }
    std::erase_if(plan.criteria, [&](const plan::Criterion& one) { return !past.criteria.count(one.name); });
    run.plan_digest += "-before-" + std::to_string(past.run);
    plan.digest = run.plan_digest;
    run.plan_json = plan::canonicalJson(plan::toJson(plan));
    const store::Moment ended = run.ended;
    auto number = into_.addRun(std::move(run));
    return number ? into_.endRun(*number, ended, store::Run::kComplete) : number.takeError();
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
    auto plans = from_.blocksOfSession(block.session, block.study);
    if (!plans) return plans.takeError();
    const auto found = std::find_if(plans->begin(), plans->end(),
                                    [&](const store::BlockPlan& plan) { return plan.block.id == block.id; });
    if (found == plans->end()) return llvm::createStringError("a block has gone from the store while it was read");
    found->block.session = sessions_[block.session];
    auto number = into_.addBlock(std::move(*found));
    if (!number) return number.takeError();
    blocks_[block.id] = *number;
    return llvm::Error::success();
  }

  llvm::Error add(store::Trial trial) {
    if (hidden_) hidden_->apply(trial);
    trial.session = sessions_[trial.session];
    trial.block = blocks_[trial.block];
    trial.run = run_;
    auto number = into_.beginTrial(trial);
    if (!number) return number.takeError();
    // Names of people may stand in what programs write.
    if (!hidden_) store::copyOutput(from_.folder(), trial.id, into_.folder(), *number);
    trial.id = *number;
    return into_.endTrial(trial, {trial.started + trial.seconds, 0});
  }

  store::Store& from_;
  store::Store& into_;
  const store::Results& results_;
  const Anonymous* hidden_;
  std::map<int64_t, int64_t> sessions_, blocks_;  // old number -> new number
  int64_t run_ = 0;
};

}  // namespace

llvm::Error writeExcerpt(store::Store& from, const plan::Plan& plan, const store::Run& run,
                         const store::Results& results, const std::string& folder, const Anonymous* hidden) {
  if (results.trials.empty())
    return llvm::createStringError("nothing was measured that counts for the study: run it first");
  std::vector<std::string> messages;
  auto into = store::Store::openForWriting(folder, messages);
  if (!into) return into.takeError();
  if (auto error = Excerpt(from, *into, results, hidden).write(plan, run)) return error;
  return into->close();
}

}  // namespace expc::bundle
