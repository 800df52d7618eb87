#include "runtime/worker/device/cpu_device.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <chrono>

#include "runtime/worker/device/host.h"
#include "runtime/worker/profile/probe.h"
#include "runtime/worker/profile/range.h"

namespace expc::device {
namespace {

using Clock = std::chrono::steady_clock;

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) { at::set_num_threads(threads); }

  c10::Device torchDevice() const override { return c10::Device(c10::kCPU); }
  void join(comm::Communicator&) override {}  // Gloo is there from the start
  void synchronize() override {}              // operators return when they are done
  void clearMarks(size_t count) override {
    marks_.clear();
    marks_.reserve(count);
  }
  void mark() override { marks_.push_back(Clock::now()); }
  std::vector<double> intervals() override {
    std::vector<double> result;
    for (size_t i = 1; i < marks_.size(); ++i)
      result.push_back(std::chrono::duration<double>(marks_[i] - marks_[i - 1]).count());
    return result;
  }
  std::unique_ptr<profile::PhaseClock> phaseClock() const override { return profile::makeHostClock(); }
  std::unique_ptr<profile::Probe> probe() const override { return profile::makeOperatorProbe(); }
  std::optional<double> energy() const override { return std::nullopt; }  // RAPL is for administrators
  void describe(llvm::json::Object& environment) const override {
    environment["device"] = "cpu";
    environment["threads"] = at::get_num_threads();
    environment["cpu_capability"] = at::get_cpu_capability();
    environment["torch"] = TORCH_VERSION;
  }

 private:
  std::vector<Clock::time_point> marks_;
};

llvm::Expected<std::unique_ptr<Device>> openCpu(llvm::ArrayRef<llvm::json::Value> slots) {
  return std::make_unique<CpuDevice>(slotThreads(slots.front()));
}

void cpuLibraries(llvm::json::Object& into) { into["torch"] = TORCH_VERSION; }

}  // namespace

Backend cpuBackend() { return {"cpu", openCpu, cpuLibraries}; }

}  // namespace expc::device
