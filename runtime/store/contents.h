#pragma once

// All that the journals of a results folder say, as records in memory.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/store/entry.h"
#include "runtime/store/journal.h"
#include "runtime/store/records.h"

namespace expc::store {

class Contents {
 public:
  Contents() = default;
  Contents(Contents&&) = default;  // `attempts_` points into `trials_`, whose elements stay where they are
  Contents& operator=(Contents&&) = default;

  /// What `journals` of `folder` say. What a damaged line held, and what refers to it, is left out and told.
  static llvm::Expected<Contents> read(const std::string& folder, const std::vector<JournalFile>& journals,
                                       std::vector<DamagedLine>& damaged);

  /// Takes what an entry says. False if it refers to what is not there, or says twice what can be said once: then
  /// nothing of it is taken.
  bool take(Entry entry);

  /// The store's name; "" where no journal is.
  const std::string& name() const { return name_; }
  const std::map<int64_t, Session>& sessions() const { return sessions_; }
  /// Texts of plans by their hashes.
  const std::map<std::string, std::string>& plans() const { return plans_; }
  /// Of each, `plan_json` is the hash.
  const std::map<int64_t, Run>& runs() const { return runs_; }
  const std::map<int64_t, BlockPlan>& blocks() const { return blocks_; }
  /// Above every number of the study's blocks of a kind; 0 where there is none.
  uint64_t nextBlockNumber(const std::string& study, plan::TrialKind kind) const;
  const std::map<int64_t, Key>& keys() const { return keys_; }
  /// Their keys, blocks and sessions are there.
  const std::map<int64_t, Trial>& trials() const { return trials_; }
  const std::vector<Adopted>& adopted() const { return adopted_; }
  /// The trials of a block, of whatever status, by id.
  std::vector<Trial> trialsOf(int64_t block) const;

 private:
  bool add(Opened&& entry);
  bool add(Session&& entry);
  bool add(Seen&& entry);
  bool add(PlanText&& entry);
  bool add(RunBegan&& entry);
  bool add(RunEnded&& entry);
  bool add(BlockPlan&& entry);
  bool add(KeyAdded&& entry);
  bool add(TrialBegan&& entry);
  bool add(TrialEnded&& entry);
  bool add(Reread&& entry);
  bool add(Adopted&& entry);
  bool isValidElsewhere(const Trial& trial) const;

  std::string name_;
  std::map<int64_t, Session> sessions_;
  std::map<std::string, std::string> plans_;
  std::map<int64_t, Run> runs_;
  std::map<int64_t, BlockPlan> blocks_;
  std::map<std::pair<std::string, plan::TrialKind>, uint64_t> next_block_;  // by study and kind
  std::map<int64_t, Key> keys_;
  std::map<int64_t, Trial> trials_;
  std::map<std::tuple<int64_t, unsigned, unsigned>, const Trial*> attempts_;  // by block, position and attempt
  std::vector<Adopted> adopted_;
  std::set<std::tuple<std::string, std::string, int64_t>> origins_;  // of `adopted_`
};

}  // namespace expc::store
