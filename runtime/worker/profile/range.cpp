// Ranges in three forms: NVTX for NVIDIA's tools, phase clocks for our own measurement, and events
// of a trace. Also the trace itself, by torch's profiler (Kineto). A range costs nothing but an
// NVTX call if nobody looks.

#include "runtime/worker/profile/range.h"

#include <ATen/record_function.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <torch/csrc/autograd/profiler_kineto.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/clock.h"
#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"

namespace expc::profile {
namespace {

/// The clock that measures this thread, if any.
thread_local PhaseClock* measuring = nullptr;

/// The names of phases in a trace. The prefix makes them stand out among operators; toString()
/// removes it.
constexpr const char* kTraceNames[kPhases] = {"expc:epoch",   "expc:step",     "expc:load",       "expc:copy",
                                              "expc:forward", "expc:backward", "expc:all_reduce", "expc:optimizer"};

/// NVTX. Its headers look for a tool of NVIDIA at the first call, and a call costs a few nanoseconds without one.
namespace nvtx {

/// The domain "expc" with its names registered, so that a range passes a pointer to a tool and
/// copies no text.
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

void push(Phase phase) { nvtxDomainRangePushEx(names().domain, &names().attributes[size_t(phase)]); }
void pop() { nvtxDomainRangePop(names().domain); }
uint64_t start(Phase phase) { return nvtxDomainRangeStartEx(names().domain, &names().attributes[size_t(phase)]); }
void end(uint64_t id) { nvtxDomainRangeEnd(names().domain, id); }

}  // namespace nvtx

/// Phases by the host's clock. A phase of one kind does not nest in itself, so one start time per
/// phase is enough.
class HostClock final : public PhaseClock {
 public:
  void begin(Phase phase) override { begun_[size_t(phase)] = base::Clock::now(); }
  void end(Phase phase) override {
    const auto now = base::Clock::now();
    const auto index = size_t(phase);
    times_[index].seconds += base::secondsBetween(begun_[index], now);
    ++times_[index].count;
  }
  PhaseTimes take() override { return std::exchange(times_, {}); }

 private:
  std::array<base::Clock::time_point, kPhases> begun_{};
  PhaseTimes times_{};
};

using torch::profiler::impl::ActivityType;

/// A trace is being taken.
std::atomic<bool> tracing{false};

/// Why a trace could not be written. Kineto says nothing about it, so this tries to write more into
/// the unfinished file and asks the system.
std::string whyUnwritten(const std::string& file) {
  const Descriptor descriptor(open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  if (descriptor < 0) return std::strerror(errno);
  const std::vector<char> block(1 << 16);
  const bool written = write(descriptor, block.data(), block.size()) == ssize_t(block.size());
  return written ? "could not be written" : std::strerror(errno ? errno : ENOSPC);
}

}  // namespace

std::string_view toString(Phase phase) {
  return std::string_view(kTraceNames[size_t(phase)]).substr(sizeof "expc:" - 1);
}

Range::Range(Phase phase) : phase_(phase), measured_(measuring != nullptr), nvtx_(0) {
  // An epoch ends when its data ends, not in the order of nesting, so it is a range with an id of
  // its own.
  if (phase == Phase::Epoch) {
    nvtx_ = nvtx::start(phase);
  } else {
    nvtx::push(phase);
    if (tracing.load(std::memory_order_relaxed)) {
      traced_ = std::make_unique<at::RecordFunction>(at::RecordScope::USER_SCOPE);
      traced_->before(kTraceNames[size_t(phase)]);
    }
  }
  if (measured_) measuring->begin(phase);
}

Range::~Range() {
  // A range that began before the measurement, or outlives it, is no entry.
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

void startTrace(bool gpu) {
  using torch::profiler::impl::ProfilerConfig;
  using torch::profiler::impl::ProfilerState;
  std::set<ActivityType> activities{ActivityType::CPU};
  if (gpu) activities.insert(ActivityType::CUDA);
  const ProfilerConfig config(ProfilerState::KINETO, /*report_input_shapes=*/true);
  torch::autograd::profiler::prepareProfiler(config, activities);
  // Records of all scopes: operators, backward functions and our ranges.
  torch::autograd::profiler::enableProfiler(config, activities);
  tracing = true;
}

Error finishTrace(const std::string& path) {
  tracing = false;
  const auto result = torch::autograd::profiler::disableProfiler();
  const auto failed = [&](const std::string& what) {
    return failure("the trace {}: {} (--trace names its folder)", path, what);
  };
  // Remove an old file first, or it would be taken for the new one.
  if (access(path.c_str(), F_OK) == 0 && unlink(path.c_str()) != 0) return failed(std::strerror(errno));
  result->save(path);
  if (access(path.c_str(), R_OK) != 0) {
    const std::string part = path + ".tmp";  // Kineto's temporary file, which it renames when everything is written
    const std::string why = whyUnwritten(part);
    unlink(part.c_str());
    return failed(why);
  }
  return Error::success();
}

}  // namespace expc::profile
