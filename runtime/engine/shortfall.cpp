#include "runtime/engine/shortfall.h"

#include <fmt/format.h>

#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/needs.h"

namespace expc::engine {
namespace {

using analysis::Index;

/// Of places that lack trials as many are named.
constexpr size_t kNamedPlaces = 3;

std::string firstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

/// "18 of 33 trials failed, 2 timed out"; "" if all ended well.
std::string endsText(const analysis::Tally& tally) {
  std::string text;
  const auto add = [&](uint64_t count, const char* what) {
    if (count == 0) return;
    text += text.empty() ? fmt::format("{} of {} trial{} {}", count, tally.trials, tally.trials == 1 ? "" : "s", what)
                         : fmt::format(", {} {}", count, what);
  };
  add(tally.failed, "failed");
  add(tally.timeouts, "timed out");
  add(tally.infeasible, "ran out of memory");
  add(tally.invalid, "were disturbed");
  return text;
}

/// "timed n=3 has 0 of 6 (no licence server)".
std::string lackText(const Index& index, plan::TrialKind kind, unsigned number, unsigned repeat) {
  const analysis::PlaceOutcomes& outcomes = index.of(kind, number);
  const std::string reason = firstLine(outcomes.last_reason);
  return fmt::format("{} {} has {} of {}{}", toString(kind), analysis::placeLabel(index, index.place(number)),
                     outcomes.ended, repeat, reason.empty() ? "" : " (" + reason + ")");
}

}  // namespace

std::string failureText(const Index& index, const analysis::Failure& failure) {
  return fmt::format("{} {}: {}", toString(failure.kind), analysis::placeLabel(index, failure.place),
                     firstLine(failure.reason));
}

std::string endedAtLookText(const Index& index) {
  const plan::KindDesign* design = analysis::endedAtLook(index);
  if (!design) return "";
  return fmt::format("every criterion is decided at the look after {} of {} {} repetitions",
                     analysis::repetitionsAsked(index, *design), design->repeat, toString(design->kind));
}

std::string shortfallText(const Index& index) {
  if (!analysis::lacksTrials(index)) return "";
  std::vector<std::string> lacks;
  for (const plan::KindDesign& design : index.plan().design.kinds) {
    const unsigned asked = analysis::repetitionsAsked(index, design);
    for (unsigned number = 0; number < index.places(); ++number)
      if (index.asked(design.kind, number) && index.of(design.kind, number).ended < asked)
        lacks.push_back(lackText(index, design.kind, number, asked));
  }
  std::string text = endsText(index.tally());
  if (lacks.empty()) return text.empty() ? "some pairs are not complete" : text + "; some pairs are not complete";
  for (size_t i = 0; i < lacks.size() && i < kNamedPlaces; ++i)
    text += (i > 0 ? ", " : text.empty() ? "" : "; ") + lacks[i];
  return lacks.size() > kNamedPlaces ? text + fmt::format(" and {} more", lacks.size() - kNamedPlaces) : text;
}

}  // namespace expc::engine
