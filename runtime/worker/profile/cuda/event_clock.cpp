#include "runtime/worker/profile/cuda/event_clock.h"

#include <ATen/cuda/CUDAEvent.h>
#include <c10/cuda/CUDAStream.h>

#include <utility>
#include <vector>

namespace expc::profile {
namespace {

/// More than what a device has queued at any time: the oldest pair is long done when the ring comes round.
constexpr size_t kPairs = 4096;

struct Pair {
  at::cuda::CUDAEvent begin{cudaEventDefault}, end{cudaEventDefault};  // with timing
  Phase phase = Phase::Step;
  bool open = false;  // its end is not recorded yet
  bool used = false;
};

class EventClock final : public PhaseClock {
 public:
  explicit EventClock(c10::Device device) : device_(device), host_(makeHostClock()), ring_(kPairs) {}

  void begin(Phase phase) override {
    if (phase == Phase::Load) return host_->begin(phase);
    Pair& pair = ring_[next_];
    if (pair.used && !pair.open) take(pair);
    pair.phase = phase;
    pair.used = pair.open = true;
    pair.begin.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    open_[static_cast<size_t>(phase)] = next_;
    next_ = (next_ + 1) % ring_.size();
  }

  void end(Phase phase) override {
    if (phase == Phase::Load) return host_->end(phase);
    Pair& pair = ring_[open_[static_cast<size_t>(phase)]];
    if (!pair.open || pair.phase != phase) return;  // a ring's length ago: an epoch
    pair.end.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    pair.open = false;
  }

  PhaseTimes take() override {
    for (Pair& pair : ring_)
      if (pair.used && !pair.open) take(pair);
    PhaseTimes times = std::exchange(times_, {});
    const auto load = static_cast<size_t>(Phase::Load);
    times[load] = host_->take()[load];
    return times;
  }

 private:
  void take(Pair& pair) {
    pair.end.synchronize();
    auto& time = times_[static_cast<size_t>(pair.phase)];
    time.seconds += static_cast<double>(pair.begin.elapsed_time(pair.end)) * 1e-3;
    ++time.count;
    pair.used = false;
  }

  c10::Device device_;
  std::unique_ptr<PhaseClock> host_;
  std::vector<Pair> ring_;
  std::array<size_t, kPhases> open_{};
  size_t next_ = 0;
  PhaseTimes times_{};
};

}  // namespace

std::unique_ptr<PhaseClock> makeEventClock(c10::Device device) { return std::make_unique<EventClock>(device); }

}  // namespace expc::profile
