#include "runtime/engine/timeout.h"

#include <algorithm>

namespace expc::engine {

double trialTimeout(std::optional<double> asked, const store::Results& results, plan::TrialKind kind,
                    std::string_view point) {
  if (asked) return *asked;
  double own = 0, any = 0;
  for (const store::Trial& trial : results.trials) {
    if (trial.kind != kind || trial.status != store::TrialStatus::Valid) continue;
    double took = trial.ended - trial.started;
    any = std::max(any, took);
    if (trial.point == point) own = std::max(own, took);
  }
  if (own > 0) return std::max(kLeastTimeoutSeconds, kTimeoutFactor * own);
  return std::max(kDefaultTimeoutSeconds, kTimeoutFactor * any);
}

}  // namespace expc::engine
