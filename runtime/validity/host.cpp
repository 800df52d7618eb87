// Readers for /proc, /sys and NVML. Every file may be missing or unreadable (containers, virtual machines, old
// kernels); then the value is absent and nobody is told here.

#include "runtime/validity/host.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/machine/gpus.h"

namespace expc::validity {
namespace {

namespace fs = std::filesystem;
using base::readText;

constexpr size_t kNamedOthers = 3;

/// A number with spaces around it; absent for anything else.
std::optional<double> numberIn(StringRef text) {
  double value = 0;
  text = text.trim();  // to_float takes an empty text for 0
  return !text.empty() && llvm::to_float(text, value) ? std::optional(value) : std::nullopt;
}

/// A whole number with spaces around it; absent for anything else.
std::optional<uint64_t> wholeIn(StringRef text) {
  uint64_t value = 0;
  return llvm::to_integer(text.trim(), value, 10) ? std::optional(value) : std::nullopt;
}

llvm::SmallVector<StringRef, 64> wordsOf(StringRef line) {
  llvm::SmallVector<StringRef, 64> words;
  llvm::SplitString(line, words);
  return words;
}

// The part of NVML's binary interface that is used here: nvmlProcessInfo_t and constants of nvml.h (stable since driver
// 450).
using Device = base::Nvml::Device;
struct Process {
  unsigned pid;
  unsigned long long memory;
  unsigned gpu_instance, compute_instance;
};
/// nvmlMemory_t and nvmlUtilization_t of nvml.h.
struct Memory {
  unsigned long long total, free, used;
};
struct Utilization {
  unsigned gpu, memory;  // percent
};
constexpr unsigned kGraphicsClock = 0, kGpuSensor = 0, kUncorrected = 1, kVolatile = 0;
constexpr unsigned kEnabled = 1;
constexpr unsigned long long kIdle = 1;
constexpr size_t kMostProcesses = 256;

}  // namespace

/// Reads lines "cpu3 user nice system idle iowait irq softirq steal …" of /proc/stat, in ticks. Busy are user, nice,
/// system and steal (which the host of a virtual machine took). Interrupts belong to nobody and are left out.
std::map<int, double> readBusy(const std::string& root) {
  std::map<int, double> cores;
  const std::string text = readText(root + "/proc/stat").value_or("");
  for (const StringRef line : llvm::split(text, '\n')) {
    const auto words = wordsOf(line);
    int core = 0;
    // Old kernels have fewer columns; without steal the sum would not be comparable.
    if (words.size() < 9) continue;
    StringRef number = words[0];
    if (!number.consume_front("cpu") || !llvm::to_integer(number, core, 10)) continue;
    double busy = 0;
    for (const size_t column : {1, 2, 3, 8}) busy += numberIn(words[column]).value_or(0);
    cores[core] = busy / double(sysconf(_SC_CLK_TCK));
  }
  return cores;
}

MemoryCounters::MemoryCounters(const std::string& root)
    : pages_(root + "/proc/vmstat"), pressure_(root + "/proc/pressure/memory") {}

MemoryCounts MemoryCounters::read() {
  MemoryCounts counts;
  const std::string pages = "\n" + pages_.text().value_or("");
  const auto count = [&](StringRef name) {
    const size_t line = pages.find(fmt::format("\n{} ", name));
    return line == pages.npos ? std::nullopt
                              : wholeIn(StringRef(pages).substr(line + 2 + name.size()).split('\n').first);
  };
  // Pages read from swap and written to it (proc(5), vmstat).
  for (const auto swapped : {count("pswpin"), count("pswpout")})
    if (swapped) counts.swapped_pages = counts.swapped_pages.value_or(0) + *swapped;
  counts.page_faults = count("pgmajfault");
  // "some avg10=0.00 avg60=0.00 avg300=0.00 total=373839527": the total is in microseconds (kernel documentation, PSI).
  const std::string pressure = pressure_.text().value_or("");
  const auto words = wordsOf(StringRef(pressure).split('\n').first);
  if (words.empty() || words.front() != "some") return counts;
  for (StringRef word : words)
    if (word.consume_front("total="))
      if (const auto total = numberIn(word)) counts.pressure = *total * 1e-6;
  return counts;
}

std::optional<double> readEnergy(const std::string& root) {
  std::optional<double> joules;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/sys/class/powercap", error)) {
    const std::string name = entry.path().filename().string();  // "intel-rapl:0" is a package, "intel-rapl:0:0" a part
    if (!StringRef(name).starts_with("intel-rapl:") || std::ranges::count(name, ':') != 1) continue;
    const auto microjoules = numberIn(readText(entry.path().string() + "/energy_uj").value_or(""));
    // The sum must be of all packages, or it would look like a saving.
    if (!microjoules) return std::nullopt;
    joules = joules.value_or(0) + *microjoules * 1e-6;
  }
  return joules;
}

std::optional<double> readLoad(const std::string& root) {
  const std::string text = readText(root + "/proc/loadavg").value_or("");
  return numberIn(StringRef(text).split(' ').first);
}

std::optional<double> readClock(const std::vector<int>& cores, const std::string& root) {
  double sum = 0;
  for (const int core : cores) {
    const auto khz = numberIn(
        readText(fmt::format("{}/sys/devices/system/cpu/cpu{}/cpufreq/scaling_cur_freq", root, core)).value_or(""));
    if (!khz) return std::nullopt;
    sum += *khz * 1e-3;
  }
  return cores.empty() ? std::nullopt : std::optional(sum / double(cores.size()));
}

uint64_t memoryOf(const Family& family, const std::string& root) {
  uint64_t bytes = 0;
  for (const int pid : family.pids) {
    const std::string folder = fmt::format("{}/proc/{}/", root, pid);
    const std::string shared = readText(folder + "smaps_rollup").value_or("");
    const size_t line = shared.find("\nPss:");
    const auto kib = line == shared.npos ? std::nullopt : wholeIn(wordsOf(StringRef(shared).substr(line + 5))[0]);
    const auto words = readText(folder + "statm").value_or("");
    if (kib)
      bytes += uint64_t(*kib) << 10;
    else if (const auto fields = wordsOf(words); fields.size() > 1)
      bytes += uint64_t(wholeIn(fields[1]).value_or(0)) * uint64_t(sysconf(_SC_PAGESIZE));
  }
  return bytes;
}

std::vector<std::string> runningOthers(const std::vector<int>& cores, const Family& family, const std::string& root) {
  std::vector<std::string> found;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(root + "/proc", error)) {
    const auto pid = wholeIn(entry.path().filename().string());
    if (!pid || family.pids.count(int(*pid))) continue;
    const base::Process process = base::processOf(int(*pid), root + "/proc");
    // State R also means waiting for a core; the core is then the last one that it ran on.
    if (process.state != 'R' || std::ranges::count(cores, process.core) == 0) continue;
    found.push_back(processText(int(*pid), root));
    if (found.size() == kNamedOthers) break;
  }
  return found;
}

std::string processText(int pid, const std::string& root) {
  const std::string name = readText(fmt::format("{}/proc/{}/comm", root, pid)).value_or("");
  return name.empty() ? std::to_string(pid) : fmt::format("{} ({})", pid, name);
}

Cards::Cards(const std::string& library, const std::vector<std::string>& environment) {
  if (library.empty()) return;
  machine::Variables variables;
  for (const std::string& variable : environment) {
    const auto [name, value] = StringRef(variable).split('=');
    if (name.starts_with("NULLGPU_") && !std::getenv(name.str().c_str())) variables.set(name.str(), value.str());
  }
  library_ = std::make_unique<base::Nvml>(library);
  // The first question makes the library of null cards read the variables, before they are restored.
  look(0);
}

std::optional<CardState> Cards::look(unsigned index) const {
  Device device = library_ ? library_->device(index) : nullptr;
  if (!device) return std::nullopt;
  const base::Nvml& nvml = *library_;
  CardState state;
  unsigned long long reasons = 0, millijoules = 0, errors = 0;
  unsigned milliwatts = 0;
  // Each value by itself may be missing, for example on virtual GPUs, and keeps its default.
  if (nvml.call("nvmlDeviceGetCurrentClocksThrottleReasons", device, &reasons)) {
    state.reasons = reasons;
    state.working = (reasons & kIdle) == 0;
  }
  nvml.call("nvmlDeviceGetClockInfo", device, kGraphicsClock, &state.clock_mhz);
  nvml.call("nvmlDeviceGetTemperature", device, kGpuSensor, &state.celsius);
  if (nvml.call("nvmlDeviceGetPowerUsage", device, &milliwatts)) state.watts = milliwatts * 1e-3;
  if (nvml.call("nvmlDeviceGetTotalEnergyConsumption", device, &millijoules)) state.joules = double(millijoules) * 1e-3;
  if (nvml.call("nvmlDeviceGetTotalEccErrors", device, kUncorrected, kVolatile, &errors)) state.ecc_errors = errors;
  // With more processes than fit, NVML returns an error, and the card seems free.
  std::array<Process, kMostProcesses> processes{};
  auto count = unsigned(processes.size());
  if (nvml.call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, processes.data()))
    for (unsigned i = 0; i < count; ++i) {
      state.processes.push_back(int(processes[i].pid));
      // All bits are set where the driver does not tell.
      if (processes[i].memory != ~0ull) state.memory[state.processes.back()] = processes[i].memory;
    }
  Memory memory{};
  if (nvml.call("nvmlDeviceGetMemoryInfo", device, &memory)) state.used = memory.used;
  Utilization utilization{};
  if (nvml.call("nvmlDeviceGetUtilizationRates", device, &utilization)) state.busy = utilization.gpu * 1e-2;
  return state;
}

std::optional<CardSettings> Cards::settings(unsigned index) const {
  Device device = library_ ? library_->device(index) : nullptr;
  if (!device) return std::nullopt;
  CardSettings settings;
  unsigned now = 0;
  if (library_->call("nvmlDeviceGetPersistenceMode", device, &now)) settings.persistence = now == kEnabled;
  if (library_->call("nvmlDeviceGetEnforcedPowerLimit", device, &now)) settings.power_limit = now * 1e-3;
  if (library_->call("nvmlDeviceGetPowerManagementDefaultLimit", device, &now)) settings.power_default = now * 1e-3;
  return settings;
}

}  // namespace expc::validity
