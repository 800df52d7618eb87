// Fills a results folder as a run of PLAN.json would that went through BLOCKS blocks: expc-report-bench PLAN.json
// FOLDER BLOCKS. Every trial is valid; its values are drawn. report.py lets `expc report` read it.
#include <llvm/Support/MemoryBuffer.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/plan/plan.h"
#include "runtime/stats/distributions.h"
#include "runtime/store/store.h"

using namespace expc;

namespace {

void fill(store::Store& store, const plan::Plan& plan, unsigned blocks) {
  const store::Match match{std::nullopt, store::Worker{"build", "class"}, {}};
  store::Session session;
  session.where.nodes = {"bench"};
  session.workers = match.workers();
  session.environment_json = "{}";
  session.opened = session.last_seen = {90, 9};
  const int64_t in = llvm::cantFail(store.addSession(session));
  store::Run run;
  run.study = plan.study;
  run.session = in;
  run.match = match;
  const int64_t by = llvm::cantFail(store.addRun(run));
  std::vector<store::Key> keys;
  store::BlockPlan block;
  for (const plan::Point& point : plan.points) {
    keys.push_back(
        std::make_shared<const store::TrialKey>(store::keyOf(plan, point.id, plan::TrialKind::Timed, match)));
    block.places.emplace_back(point.id);
  }
  stats::NormalStream normal(7);
  block.block.study = plan.study;
  block.block.session = in;
  for (unsigned number = 0; number < blocks; ++number) {
    block.block.number = number;
    block.block.seed = number;
    const int64_t of = llvm::cantFail(store.addBlock(block));
    for (unsigned i = 0; i < keys.size(); ++i) {
      store::Trial trial;
      trial.key = keys[i];
      trial.block = of;
      trial.session = in;
      trial.run = by;
      trial.position = i;
      trial.devices = "[]";
      trial.environment_json = "{}";
      trial.id = llvm::cantFail(store.beginTrial(trial));
      trial.status = store::TrialStatus::Valid;
      trial.seconds = 0.1 * std::exp(0.02 * normal.next());
      for (const plan::Metric& metric : plan.metrics)
        if (!metric.derived) trial.metrics[metric.name] = 0.1 * std::exp(0.02 * normal.next());
      llvm::cantFail(store.endTrial(trial, {100, 11}));
    }
  }
  llvm::cantFail(store.endRun(by, {100, 11}, {store::Outcome::Complete}));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: expc-report-bench PLAN.json FOLDER BLOCKS\n");
    return 2;
  }
  auto file = llvm::MemoryBuffer::getFile(argv[1]);
  const auto plan = llvm::cantFail(plan::planFromJson(llvm::cantFail(base::parseJson((*file)->getBuffer().str()))));
  std::vector<std::string> messages;
  store::Store store = llvm::cantFail(store::Store::openForWriting(argv[2], messages));
  fill(store, plan, unsigned(std::atoi(argv[3])));
  llvm::cantFail(store.close());
}
