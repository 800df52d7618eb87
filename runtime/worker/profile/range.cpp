#include "runtime/worker/profile/range.h"

#include <ATen/record_function.h>

#include "runtime/worker/profile/nvtx.h"
#include "runtime/worker/profile/phase_clock.h"
#include "runtime/worker/profile/trace.h"

namespace expc::profile {
namespace {

thread_local PhaseClock* measuring = nullptr;

constexpr const char* kNames[kPhases] = {"epoch",   "step",     "load",       "copy",
                                         "forward", "backward", "all_reduce", "optimizer"};
/// With a prefix, so that they stand out among the operators of a trace.
constexpr const char* kTraceNames[kPhases] = {"expc:epoch",   "expc:step",     "expc:load",       "expc:copy",
                                              "expc:forward", "expc:backward", "expc:all_reduce", "expc:optimizer"};

}  // namespace

std::string_view toString(Phase phase) { return kNames[static_cast<size_t>(phase)]; }

Range::Range(Phase phase) : phase_(phase), measured_(measuring != nullptr), nvtx_(0) {
  if (phase == Phase::Epoch) {
    nvtx_ = nvtx::start(phase);
  } else {
    nvtx::push(phase);
    if (isTracing()) {
      traced_ = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
      traced_->before(kTraceNames[static_cast<size_t>(phase)]);
    }
  }
  if (measured_) measuring->begin(phase);
}

Range::~Range() {
  // A range that began before the measurement did, or outlives it, is no entry.
  if (measured_ && measuring) measuring->end(phase_);
  traced_.reset();
  if (phase_ == Phase::Epoch) {
    nvtx::end(nvtx_);
  } else {
    nvtx::pop();
  }
}

Measuring::Measuring(PhaseClock& clock) { measuring = &clock; }
Measuring::~Measuring() { measuring = nullptr; }

}  // namespace expc::profile
