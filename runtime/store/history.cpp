#include "runtime/store/history.h"

#include <fmt/format.h>

#include "runtime/store/rows.h"

namespace expc::store {

llvm::Expected<History> history(Store& store, const plan::Plan& plan, const Part& part) {
  auto trials = store.endedTrials(plan);
  if (!trials) return trials.takeError();
  History history{std::move(*trials), {}, {}};
  const Database& database = store.database();
  Statement block(database.handle(), database.path(),
                  fmt::format("SELECT {} FROM block WHERE id = ?1", kBlockColumns).c_str());
  Statement session(database.handle(), database.path(),
                    fmt::format("SELECT {} FROM session WHERE id = ?1", kSessionColumns).c_str());
  for (const Trial& trial : history.trials) {
    if (!history.blocks.contains(trial.block) && block.bind({trial.block}).step())
      history.blocks[trial.block] = readBlock(block).block;
    if (!history.sessions.contains(trial.session) && session.bind({trial.session}).step())
      history.sessions[trial.session] = readSession(session);
  }
  for (Statement* one : {&block, &session})
    if (auto error = one->take()) return error;
  std::erase_if(history.trials, [&](const Trial& trial) {
    const auto session = history.sessions.find(trial.session);
    return !part.has(trial) ||
           (part.host && (session == history.sessions.end() || !session->second.where.isOn(*part.host))) ||
           (part.build && !trial.key->worker_build.starts_with(*part.build)) ||
           (part.program && !trial.key->data.starts_with(*part.program));
  });
  return history;
}

}  // namespace expc::store
