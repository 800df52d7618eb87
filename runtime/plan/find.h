#pragma once

// Parts of a plan, and what was judged of them, by name.

#include <algorithm>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.h"

namespace expc::plan {

/// The one of that name; null where there is none.
template <typename T>
const T* named(const std::vector<T>& all, std::string_view name) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const T& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

/// The design of a kind of trial; null where no such trial is planned.
inline const KindDesign* designOf(const Plan& plan, TrialKind kind) {
  const auto& kinds = plan.design.kinds;
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const KindDesign& one) { return one.kind == kind; });
  return found == kinds.end() ? nullptr : &*found;
}

}  // namespace expc::plan
