// The CPU as a device, memory under copies that are on their way, and what all devices share:
// reading slots, choosing a backend, energy of GPUs by NVML.

#include "runtime/worker/device/device.h"

#include <ATen/Parallel.h>
#include <ATen/Version.h>
#include <torch/version.h>

#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/nvml.h"
#include "runtime/base/parallel.h"
#include "runtime/base/text.h"
#include "runtime/worker/profile/activity.h"
#include "runtime/worker/profile/range.h"

namespace expc::device {
namespace {

/// The CPU. Operators return when they are done, so nothing is queued and there is nothing to wait
/// for.
class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int threads) { at::set_num_threads(threads); }

  c10::Device torchDevice() const override { return c10::Device(c10::kCPU); }
  void join(comm::Communicator&) override {}  // Gloo serves the CPU from the start
  void synchronize() override {}              // operators return when they are done
  void clearMarks(size_t count) override {
    marks_.clear();
    marks_.reserve(count);
  }
  void mark() override { marks_.push_back(base::Clock::now()); }
  std::vector<double> intervals() override {
    std::vector<double> result;
    for (size_t i = 1; i < marks_.size(); ++i) result.push_back(base::secondsBetween(marks_[i - 1], marks_[i]));
    return result;
  }
  std::unique_ptr<profile::PhaseClock> phaseClock() const override { return profile::makeHostClock(); }
  std::unique_ptr<profile::Probe> probe() const override { return profile::makeOperatorProbe(); }
  // RAPL's counters are readable for administrators only.
  std::optional<double> energy() const override { return std::nullopt; }
  void describe(json::Object& environment) const override {
    environment["device"] = "cpu";
    environment["threads"] = at::get_num_threads();
    environment["cpu_capability"] = at::get_cpu_capability();
    environment["torch"] = TORCH_VERSION;
  }

 private:
  std::vector<base::Clock::time_point> marks_;
};

Expected<std::unique_ptr<Device>> openCpu(ArrayRef<json::Value> slots) {
  return std::make_unique<CpuDevice>(slotThreads(slots.front()));
}

void cpuLibraries(json::Object& into) { into["torch"] = TORCH_VERSION; }

}  // namespace

InFlight::~InFlight() {
  try {
    // An exception under way means that the copies may never end.
    if (std::uncaught_exceptions() == 0) reclaim(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copies to the device are given up: %s\n", error.what());
  }
  // Leak the memory on purpose: a copy may still read it.
  if (!copies_.empty()) new auto(std::move(copies_));
}

void InFlight::add(CopyQueue::Mark mark, std::shared_ptr<void> memory) {
  copies_.emplace_back(std::move(mark), std::move(memory));
}

void InFlight::reclaim(size_t most) {
  while (!copies_.empty()) {
    const CopyQueue::Mark& mark = copies_.front().first;
    // Wait only while more than `most` are left; then take those that happen to be done.
    if (copies_.size() > most) queue_.wait(mark);
    if (!queue_.reached(mark)) return;
    copies_.pop_front();
  }
}

int slotThreads(const json::Value& slot) {
  const json::Object* object = slot.getAsObject();
  if (object) {
    if (const auto threads = object->getInteger("threads"); threads && *threads > 0) return int(*threads);
    const json::Array* cores = object->getArray("cores");
    if (cores && !cores->empty()) return int(cores->size());
  }
  return int(base::allCores());
}

Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends, ArrayRef<json::Value> slots) {
  const json::Object* object = slots.front().getAsObject();
  const StringRef name = object ? object->getString("device").value_or("") : "";
  if (const Backend* backend = base::named(backends, name)) return backend->open(slots);
  return failure(
      "the device is '{}', but this worker knows only: {} (GPUs need expc-worker-cuda: tools/setup --gpu, then make "
      "build)",
      name, base::joined(base::textsOf(backends, [](const Backend& one) { return std::string(one.name); })));
}

Backend cpuBackend() { return {"cpu", openCpu, cpuLibraries}; }

std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after) {
  if (!before || !after || *after <= *before) return std::nullopt;
  return *after - *before;
}

EnergyCounter nvmlEnergy(const std::string& pci_bus) {
  const auto nvml = std::make_shared<base::Nvml>(base::Nvml::usual());
  base::Nvml::Device device = nullptr;
  const bool found = nvml->works() && nvml->call("nvmlDeviceGetHandleByPciBusId_v2", pci_bus.c_str(), &device);
  return [nvml, device, found]() -> std::optional<double> {
    unsigned long long millijoules = 0;
    if (!found || !nvml->call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules)) return std::nullopt;
    return double(millijoules) * 1e-3;
  };
}

}  // namespace expc::device
