#pragma once

// Everything that a store holds of a plan's points, whether it counts or not: what an export writes.

#include <cstdint>
#include <map>
#include <vector>

#include "runtime/store/part.h"
#include "runtime/store/store.h"

namespace expc::store {

struct History {
  std::vector<Trial> trials;  // those that ended, by whatever key; by id
  std::map<int64_t, Block> blocks;
  std::map<int64_t, Session> sessions;
};

/// Every trial of the plan's points that has ended, and is of the part, with its block and session.
History history(const Store& store, const plan::Plan& plan, const Part& part = {});

}  // namespace expc::store
