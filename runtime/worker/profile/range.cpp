#include "runtime/worker/profile/range.h"

#include <ATen/record_function.h>

#ifdef EXPC_NVTX
#include <nvtx3/nvToolsExt.h>
#endif

#include <chrono>
#include <string>
#include <utility>

#include "runtime/worker/profile/trace.h"

namespace expc::profile {
namespace {

thread_local PhaseClock* measuring = nullptr;

constexpr const char* kNames[kPhases] = {"epoch",   "step",     "load",       "copy",
                                         "forward", "backward", "all_reduce", "optimizer"};
/// With a prefix, so that they stand out among the operators of a trace.
constexpr const char* kTraceNames[kPhases] = {"expc:epoch",   "expc:step",     "expc:load",       "expc:copy",
                                              "expc:forward", "expc:backward", "expc:all_reduce", "expc:optimizer"};

/// NVTX for ranges. A build without CUDA has empty functions: no tool of NVIDIA's looks at it.
namespace nvtx {

#ifdef EXPC_NVTX

/// The domain "expc" with its names registered, so that a tool gets a pointer for each range and copies no text.
struct Names {
  nvtxDomainHandle_t domain = nvtxDomainCreateA("expc");
  std::array<nvtxEventAttributes_t, kPhases> attributes{};

  Names() {
    for (size_t i = 0; i < kPhases; ++i) {
      const std::string name(toString(static_cast<Phase>(i)));
      attributes[i].version = NVTX_VERSION;
      attributes[i].size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
      attributes[i].messageType = NVTX_MESSAGE_TYPE_REGISTERED;
      attributes[i].message.registered = nvtxDomainRegisterStringA(domain, name.c_str());
    }
  }
};

const Names& names() {
  static const Names all;
  return all;
}

void push(Phase phase) { nvtxDomainRangePushEx(names().domain, &names().attributes[static_cast<size_t>(phase)]); }
void pop() { nvtxDomainRangePop(names().domain); }
uint64_t start(Phase phase) {
  return nvtxDomainRangeStartEx(names().domain, &names().attributes[static_cast<size_t>(phase)]);
}
void end(uint64_t id) { nvtxDomainRangeEnd(names().domain, id); }

#else

void push(Phase) {}
void pop() {}
uint64_t start(Phase) { return 0; }
void end(uint64_t) {}

#endif

}  // namespace nvtx

using Clock = std::chrono::steady_clock;

class HostClock final : public PhaseClock {
 public:
  void begin(Phase phase) override { begun_[static_cast<size_t>(phase)] = Clock::now(); }
  void end(Phase phase) override {
    const auto now = Clock::now();
    const auto index = static_cast<size_t>(phase);
    times_[index].seconds += std::chrono::duration<double>(now - begun_[index]).count();
    ++times_[index].count;
  }
  PhaseTimes take() override { return std::exchange(times_, {}); }

 private:
  std::array<Clock::time_point, kPhases> begun_{};
  PhaseTimes times_{};
};

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

std::unique_ptr<PhaseClock> makeHostClock() { return std::make_unique<HostClock>(); }

}  // namespace expc::profile
