#include "runtime/worker/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace expc::optim {

double Schedule::rate(int64_t step) const {
  if (step < warmup_steps)
    return base * (kWarmupStart + (1 - kWarmupStart) * static_cast<double>(step) / static_cast<double>(warmup_steps));
  const int64_t after = step - warmup_steps;
  if (kind == ScheduleKind::Step) return base * std::pow(kDecay, static_cast<double>(after / epoch_steps));
  if (kind == ScheduleKind::Constant) return base;
  const auto length = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  return base / 2 * (1 + std::cos(std::numbers::pi * static_cast<double>(after) / length));
}

double WarmupCosine::rate(int64_t step) const {
  if (step < warmup_steps) return base * static_cast<double>(step) / static_cast<double>(warmup_steps);
  const auto length = static_cast<double>(std::max<int64_t>(1, total_steps - warmup_steps));
  return base *
         std::max(0.0, 0.5 * (1 + std::cos(std::numbers::pi * static_cast<double>(step - warmup_steps) / length)));
}

}  // namespace expc::optim
