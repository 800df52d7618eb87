#pragma once

// All that the journals of a results folder say, as records in memory.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "runtime/store/entry.h"
#include "runtime/store/journal.h"
#include "runtime/store/records.h"

namespace expc::store {

struct Contents {
  Contents() = default;
  Contents(Contents&&) = default;  // `attempts` points into `trials`, whose elements stay where they are
  Contents& operator=(Contents&&) = default;

  /// What `journals` of `folder` say. What a damaged line held, and what refers to it, is left out and told.
  static llvm::Expected<Contents> read(const std::string& folder, const std::vector<JournalFile>& journals,
                                       std::vector<DamagedLine>& damaged);

  /// Takes what an entry says. False if it refers to what is not there, or says twice what can be said once: then
  /// nothing of it is taken.
  bool take(Entry entry);

  /// Above every number of the study's blocks of a kind; 0 where there is none.
  uint64_t nextBlockNumber(const std::string& study, plan::TrialKind kind) const;
  /// The trials of a block, of whatever status, by id.
  std::vector<Trial> trialsOf(int64_t block) const;

  std::string name;  // the store's; "" where no journal is
  std::map<int64_t, Session> sessions;
  std::map<std::string, std::string> plans;  // texts by their hashes
  std::map<int64_t, Run> runs;               // of each, `plan_json` is the hash
  std::map<int64_t, BlockPlan> blocks;
  std::map<int64_t, Key> keys;
  std::map<int64_t, Trial> trials;  // their keys, blocks and sessions are there
  std::map<std::tuple<int64_t, unsigned, unsigned>, const Trial*> attempts;  // by block, position and attempt
  std::vector<Adopted> adopted;
  std::set<std::tuple<std::string, std::string, int64_t>> origins;  // of `adopted`
};

}  // namespace expc::store
