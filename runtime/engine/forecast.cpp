#include "runtime/engine/forecast.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/needs.h"

namespace expc::engine {

void Forecast::renew() {
  for (const plan::KindDesign& design : index_.plan().design.kinds)
    left_[design.kind] = {analysis::remaining(index_, design.kind).trials, index_.typicalSeconds(design.kind)};
}

void Forecast::placeOver(plan::TrialKind kind) {
  Left& left = left_[kind];
  if (left.trials > 0) --left.trials;
}

void Forecast::fill(TrialNote& note, unsigned done, bool over) const {
  uint64_t trials = 0;
  double seconds = 0;
  bool known = false;
  for (const auto& [kind, left] : left_) {
    trials += left.trials;
    if (left.trials == 0) continue;
    known |= left.seconds_each.has_value();
    if (!left.seconds_each)
      note.untimed += fmt::format("{}{} {} trial{}", note.untimed.empty() ? "" : " and ", left.trials,
                                  plan::toString(kind), left.trials == 1 ? "" : "s");
    seconds += left.seconds_each.value_or(0) * double(left.trials);
  }
  note.done = done;
  note.expected = done + unsigned(std::max<uint64_t>(1, trials + over));
  if (known) note.remaining_seconds = seconds / lanes_;
}

}  // namespace expc::engine
