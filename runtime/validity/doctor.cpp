#include "runtime/validity/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <thread>

#include "runtime/validity/host.h"

namespace expc::validity {
namespace {

using Weight = Finding::Weight;
using llvm::StringRef;

constexpr double kWatch = 0.5;   // seconds
constexpr double kQuiet = 0.05;  // share of the cores that others may take unmentioned
const std::string kCpu = "/sys/devices/system/cpu";

Finding governor(const machine::Machine& machine, const std::string& root) {
  std::map<std::string, unsigned> found;
  for (const int core : machine.allowed)
    if (const auto text = readText(fmt::format("{}{}/cpu{}/cpufreq/scaling_governor", root, kCpu, core)))
      ++found[*text];
  if (found.empty())
    return {Weight::Note, "governor", "this machine does not say how its cores are clocked",
            "clocks that change with the load cannot be seen here", ""};
  std::vector<std::string> others;
  for (const auto& [name, cores] : found)
    if (name != "performance") others.push_back(fmt::format("{} of {} cores", name, cores));
  if (others.empty()) return {Weight::Fine, "governor", "performance on all cores", "", ""};
  return {Weight::Spoils, "governor", fmt::format("{}", fmt::join(others, ", ")),
          "cores are clocked up only after they were busy for a while, so short work looks slow",
          "sudo cpupower frequency-set -g performance"};
}

/// Turbo: no two machines tell it alike.
std::vector<Finding> turbo(const std::string& root) {
  const auto intel = readText(root + kCpu + "/intel_pstate/no_turbo"),
             others = readText(root + kCpu + "/cpufreq/boost");
  if (!intel && !others) return {};
  const bool on = intel ? *intel == "0" : *others == "1";
  if (!on) return {{Weight::Fine, "turbo", "off", "", ""}};
  return {{Weight::Note, "turbo", "on", "how high cores are clocked depends on heat and on how many are busy",
           intel ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                 : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"}};
}

std::vector<Finding> smt(const std::string& root) {
  const auto active = readText(root + kCpu + "/smt/active");
  if (!active) return {};
  if (*active != "1") return {{Weight::Fine, "smt", "off", "", ""}};
  return {{Weight::Note, "smt", "on: cores have two threads",
           "trials get one thread of each core, and what others run on its sibling takes half of the core",
           "echo off | sudo tee /sys/devices/system/cpu/smt/control"}};
}

std::vector<Finding> clockSource(const std::string& root) {
  const auto name = readText(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!name) return {};
  if (*name != "hpet" && *name != "acpi_pm" && *name != "jiffies")
    return {{Weight::Fine, "clock source", *name, "", ""}};
  return {{Weight::Spoils, "clock source", *name,
           "reading this clock takes a call into the kernel, which programs that time themselves often pay for",
           "look with `dmesg | grep -i tsc` why the kernel gave up the processor's counter; `tsc=reliable` on its "
           "command line takes it all the same"}};
}

Finding swap(const std::string& root) {
  const std::string text = readText(root + "/proc/meminfo").value_or("");
  const auto kib = [&](StringRef name) {
    StringRef rest = StringRef(text).split((name + ":").str()).second.ltrim();
    uint64_t value = 0;
    rest.consumeInteger(10, value);
    return value;
  };
  const uint64_t total = kib("SwapTotal"), free = kib("SwapFree");
  if (total == 0) return {Weight::Fine, "swap", "none", "", ""};
  if (free == total)
    return {Weight::Note, "swap", fmt::format("{} MiB, none of it in use", total >> 10),
            "a program that grows too large becomes slow instead of running out of memory", "sudo swapoff -a"};
  return {Weight::Spoils, "swap", fmt::format("{} of {} MiB in use", (total - free) >> 10, total >> 10),
          "what was written out is read back in the middle of a trial", "sudo swapoff -a"};
}

std::vector<Finding> quota(const machine::Machine& machine) {
  if (machine.cpu_quota <= 0) return {};
  return {{Weight::Spoils, "quota", fmt::format("the control group grants {:.4g} CPUs", machine.cpu_quota),
           "its processes stand still for parts of each tenth of a second once they have had their share",
           "start expc where no quota holds"}};
}

/// Watches the machine while nothing of ours runs.
std::vector<Finding> others(const machine::Machine& machine, const std::string& root) {
  const auto before = readBusy(root);
  const MemoryCounts memory_before = readMemory(root);
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(kWatch));
  const auto after = readBusy(root);
  const MemoryCounts memory = readMemory(root);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  double busy = 0;
  for (const auto& [core, seconds] : after)
    if (const auto was = before.find(core); was != before.end()) busy += seconds - was->second;
  const double share = after.empty() ? 0 : std::min(1.0, busy / (seconds * static_cast<double>(after.size())));
  std::vector<Finding> found;
  const std::vector<std::string> who =
      share > kQuiet ? runningOthers(machine.allowed, familyOf(getpid(), root), root) : std::vector<std::string>();
  if (share <= kQuiet)
    found.push_back({Weight::Fine, "others", fmt::format("they take {:.0f} % of the cores", share * 100), "", ""});
  else
    found.push_back({Weight::Spoils, "others",
                     fmt::format("they take {:.0f} % of the cores{}", share * 100,
                                 who.empty() ? "" : fmt::format(", such as {}", fmt::join(who, ", "))),
                     "trials wait for cores, caches and memory that others use",
                     "end them, or wait; `other_cpu 5%` in a design repeats the trials that they disturb"});
  if (memory_before.pressure && memory.pressure && *memory.pressure - *memory_before.pressure > kQuiet * seconds)
    found.push_back({Weight::Spoils, "memory", "somebody waits for memory", "pages are taken from whoever has them",
                     "end what takes the memory"});
  return found;
}

/// How out of memory is told, and by what a trial's memory can be limited.
Finding groups(const std::string& root) {
  const std::string text = readText(root + "/proc/self/cgroup").value_or("");
  for (StringRef line : llvm::split(text, '\n')) {
    const auto [controllers, path] = line.split(':').second.split(':');
    const bool unified = controllers.empty(),
               memory = ("," + controllers + ",").str().find(",memory,") != std::string::npos;
    if (!unified && !memory) continue;
    const std::string folder = root + "/sys/fs/cgroup" + (unified ? "" : "/memory") + path.str();
    if (access(folder.c_str(), W_OK) == 0) return {Weight::Fine, "control groups", "can be made here", "", ""};
  }
  return {Weight::Note, "control groups", "none can be made here",
          "that a trial ran out of memory is told only where the kernel's log can be read",
          "systemd-run --user --scope -p Delegate=yes expc run …"};
}

}  // namespace

std::vector<Finding> examineHost(const machine::Machine& machine, const std::string& root) {
  std::vector<Finding> findings{governor(machine, root)};
  const auto add = [&](std::vector<Finding> more) { findings.insert(findings.end(), more.begin(), more.end()); };
  add(turbo(root));
  add(smt(root));
  add(clockSource(root));
  add({swap(root)});
  add(quota(machine));
  add(others(machine, root));
  add({groups(root)});
  return findings;
}

}  // namespace expc::validity
