#pragma once

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/part.h"
#include "runtime/store/records.h"

namespace expc::exports {

/// One study with all that is known of it: what an export is made from.
struct Source {
  plan::Plan plan;
  store::Results results;  // what counts
  analysis::Judgement judgement;
  store::History history;  // all that there is of its points
};

}  // namespace expc::exports
