// The doctor: one function for each property of the machine, each adding at most a finding or two. A finding says what
// is so, why it matters for a measurement, and a command that mends it. What the machine does not tell is skipped or
// noted.

#include "runtime/validity/doctor.h"

#include <fcntl.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <thread>

#include "runtime/base/clock.h"
#include "runtime/base/control_group.h"
#include "runtime/base/entry.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/process.h"
#include "runtime/base/text.h"
#include "runtime/validity/readings.h"

namespace expc::validity {
namespace {

namespace fs = std::filesystem;
using Weight = Finding::Weight;
using Findings = std::vector<Finding>;
using base::readText;

constexpr double kWatch = 0.5;   // seconds for which the machine is watched
constexpr double kQuiet = 0.05;  // share of the cores that others may take without a finding
const std::string kCpu = "/sys/devices/system/cpu";

/// The frequency governor of the cores (kernel documentation, cpufreq).
Findings governor(const Machine& machine, const std::string& root) {
  std::map<std::string, unsigned> found;
  for (const int core : machine.allowed)
    if (const auto text = readText(fmt::format("{}{}/cpu{}/cpufreq/scaling_governor", root, kCpu, core)))
      ++found[*text];
  // Virtual machines and containers often hide the frequency of cores.
  if (found.empty())
    return {{Weight::Note, "governor", "unknown: no CPU frequency governor is exposed",
             "frequency changes cannot be detected"}};
  std::vector<std::string> others;
  for (const auto& [name, cores] : found)
    if (name != "performance") others.push_back(fmt::format("{} of {} cores", name, cores));
  // One core with another governor is enough: a trial may get it.
  if (others.empty()) return {{Weight::Fine, "governor", "performance on all cores"}};
  return {{Weight::Spoils, "governor", llvm::join(others, ", "),
           "cores raise their clock only after some load, so short trials look slow",
           "sudo cpupower frequency-set -g performance"}};
}

/// Turbo clocks. Intel's driver and the others have different files for it, one of them inverted.
Findings turbo(const Machine& machine, const std::string& root) {
  // no_turbo is 1 where turbo is off; boost is 1 where it is on.
  const auto intel = readText(root + kCpu + "/intel_pstate/no_turbo"),
             others = readText(root + kCpu + "/cpufreq/boost");
  if (!intel && !others) return {};
  const bool on = intel ? *intel == "0" : *others == "1";
  if (!on) return {{Weight::Fine, "turbo", "off"}};
  return {{Weight::Note, "turbo", "on", "clock speed depends on temperature and on the number of busy cores",
           intel ? "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
                 : "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"}};
}

/// Two hardware threads for each core.
Findings smt(const Machine& machine, const std::string& root) {
  const auto active = readText(root + kCpu + "/smt/active");
  if (!active) return {};
  if (*active != "1") return {{Weight::Fine, "smt", "off"}};
  return {{Weight::Note, "smt", "on: cores have two threads",
           "a process on the sibling thread can take up to half of a trial's core",
           "echo off | sudo tee /sys/devices/system/cpu/smt/control"}};
}

/// The kernel's clock source: if the processor's counter (TSC) is not used, reading the time is slow.
Findings clockSource(const Machine& machine, const std::string& root) {
  const auto name = readText(root + "/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!name) return {};
  // hpet and acpi_pm are devices that only the kernel reads, and jiffies is coarse. The processor's counter and the
  // clocks of hypervisors are read in the process (vDSO).
  if (*name != "hpet" && *name != "acpi_pm" && *name != "jiffies") return {{Weight::Fine, "clock source", *name}};
  return {{Weight::Spoils, "clock source", *name,
           "reading this clock needs a system call, which slows programs that time themselves",
           "see `dmesg | grep -i tsc`; the kernel option tsc=reliable forces the processor's counter"}};
}

/// Swap space, and how much of it is in use.
Findings swapSpace(const Machine& machine, const std::string& root) {
  const std::string text = readText(root + "/proc/meminfo").value_or("");
  // Lines such as "SwapTotal:  2097148 kB" (proc(5)); 0 for a line that is not there.
  const auto kib = [&](StringRef name) {
    StringRef rest = StringRef(text).split((name + ":").str()).second.ltrim();
    uint64_t value = 0;
    rest.consumeInteger(10, value);
    return value;
  };
  const uint64_t total = kib("SwapTotal"), free = kib("SwapFree");
  if (total == 0) return {{Weight::Fine, "swap", "none"}};
  // Swap that is in use spoils; swap that could be used is only a note.
  if (free == total)
    return {{Weight::Note, "swap", fmt::format("{} MiB, none of it in use", total >> 10),
             "a program that grows too large becomes slow instead of running out of memory", "sudo swapoff -a"}};
  return {{Weight::Spoils, "swap", fmt::format("{} of {} MiB in use", (total - free) >> 10, total >> 10),
           "swapped pages are read back during a trial", "sudo swapoff -a"}};
}

/// A CPU quota of the control groups: the kernel stops the processes until the next period once it is used up.
Findings quota(const Machine& machine, const std::string& root) {
  if (machine.cpu_quota <= 0) return {};
  return {{Weight::Spoils, "quota", fmt::format("CPU quota of {:.4g} CPUs (control group)", machine.cpu_quota),
           "processes pause when the quota is used up, every 0.1 s", "run expc without a CPU quota"}};
}

/// A memory limit of the control groups.
Findings memoryLimit(const Machine& machine, const std::string& root) {
  if (machine.memory_limit == 0) return {};
  return {{Weight::Note, "memory limit", fmt::format("{} MiB (control group)", machine.memory_limit >> 20),
           "a trial that needs more is killed, however much memory the machine has", "run expc without this limit"}};
}

/// Watches the machine for kWatch seconds while nothing of ours runs: whatever is busy is somebody else.
Findings others(const Machine& machine, const std::string& root) {
  const auto before = readBusy(root);
  MemoryCounters counters(root);
  const MemoryCounts memory_before = counters.read();
  const auto began = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double>(kWatch));
  const auto after = readBusy(root);
  const MemoryCounts memory = counters.read();
  const double seconds = base::secondsSince(began);
  // Cores that appeared or vanished in between are left out.
  double busy = 0;
  for (const auto& [core, seconds] : after)
    if (const auto* was = entryOf(before, core)) busy += seconds - *was;
  const double share = after.empty() ? 0 : std::min(1.0, busy / (seconds * double(after.size())));
  // Names are looked up only if they will be shown, since that reads all of /proc.
  const std::vector<std::string> who =
      share > kQuiet ? runningOthers(machine.allowed, base::familyOf(getpid(), root + "/proc"), root)
                     : std::vector<std::string>();
  Findings findings;
  if (share <= kQuiet)
    findings.push_back({Weight::Fine, "others", fmt::format("other processes use {:.0f} % of the cores", share * 100)});
  else
    findings.push_back({Weight::Spoils, "others",
                        fmt::format("other processes use {:.0f} % of the cores{}", share * 100,
                                    base::framed(", such as ", base::joined(who))),
                        "trials compete for cores, caches and memory",
                        "stop them or wait; `other_cpu 5%` in a design repeats disturbed trials"});
  // Pressure is a total in seconds, so its growth over the watch is compared with a share of the watch.
  if (memory_before.pressure && memory.pressure && *memory.pressure - *memory_before.pressure > kQuiet * seconds)
    findings.push_back({Weight::Spoils, "memory", "memory pressure: processes wait for memory",
                        "pages of trials may be evicted", "stop the process that uses the memory"});
  return findings;
}

/// Whether control groups can be made here. They tell for sure that a trial ran out of memory, and limit it.
Findings groups(const Machine& machine, const std::string& root) {
  const base::ControlGroup own = base::controlGroup("memory", root);
  // The folder must be this process's own group, and writable, for the launch server to make groups in it.
  if (own.own && access(own.folder.c_str(), W_OK) == 0)
    return {{Weight::Fine, "control groups", "can be created here"}};
  return {{Weight::Note, "control groups", "cannot be created here",
           "out-of-memory kills are recognised only if the kernel log is readable",
           "systemd-run --user --scope -p Delegate=yes expc run …"}};
}

/// The state and the settings of one GPU.
void card(const machine::Gpu& gpu, const Cards& cards, Findings& findings) {
  // A card without any finding gets one that says that it is fine.
  const size_t before = findings.size();
  const auto add = [&](Weight weight, std::string what, std::string why, std::string mend) {
    findings.push_back({weight, fmt::format("GPU {}", gpu.index), std::move(what), std::move(why), std::move(mend)});
  };
  const auto state = cards.look(gpu.index);
  if (!state)
    return add(Weight::Spoils, "does not respond", "the driver lost it, or access is denied",
               "see `dmesg | grep -i nvrm`");
  const CardSettings settings = cards.settings(gpu.index).value_or(CardSettings{});
  if (!state->processes.empty()) {
    std::vector<std::string> names;
    for (const int pid : state->processes) names.push_back(processText(pid));
    add(Weight::Spoils, fmt::format("is used by {}", fmt::join(names, ", ")),
        "they share its cores and memory with every trial", "stop them, or choose other GPUs with --devices");
  }
  // With nothing running a card should not be held down; if it is, its cooling or supply is at fault.
  if (state->reasons & kThrottles)
    add(Weight::Spoils, fmt::format("is throttled ({}, {} °C)", throttleText(state->reasons), state->celsius),
        "runs below its normal clock", "fix its cooling or its power supply");
  if (state->ecc_errors.value_or(0) > 0)
    add(Weight::Spoils, fmt::format("had {} memory errors that could not be corrected", *state->ecc_errors),
        "its results may be wrong", fmt::format("sudo nvidia-smi -i {} -r, and have it replaced", gpu.index));
  if (settings.persistence == false)
    add(Weight::Note, "persistence mode is off", "the first program after idling is slower, and clock locks are lost",
        fmt::format("sudo nvidia-smi -i {} -pm 1", gpu.index));
  // Only a limit below the default is worth a word: the default is what others measure with.
  if (settings.power_limit && settings.power_default && *settings.power_limit < *settings.power_default)
    add(Weight::Note,
        fmt::format("power limit of {:.0f} W, below the default of {:.0f} W", *settings.power_limit,
                    *settings.power_default),
        "clock speed under load depends on this limit",
        fmt::format("sudo nvidia-smi -i {} -pl {:.0f}", gpu.index, *settings.power_default));
  if (findings.size() == before) add(Weight::Fine, fmt::format("is free and cool ({} °C)", state->celsius), "", "");
}

/// The folder, or its nearest ancestor that exists.
fs::path existing(const fs::path& folder) {
  std::error_code error;
  fs::path at = fs::absolute(folder, error);
  while (!fs::is_directory(at, error) && at.has_relative_path()) at = at.parent_path();
  return at;
}

/// Tries what a results folder needs: making a file, giving it a second name (which is how its lease is taken), and
/// locking it. Returns what does not work, as on some network file systems; "" if all does.
std::string tryFolder(const fs::path& folder) {
  // mkstemp gives the file a name that nobody else has.
  std::string file = (folder / "expc-doctor-XXXXXX").string();
  const int fd = mkstemp(file.data());
  if (fd < 0) return fmt::format("cannot create a file in it ({})", std::strerror(errno));
  const std::string second = file + ".link";
  std::string trouble;
  if (link(file.c_str(), second.c_str()) != 0)
    trouble = fmt::format("cannot create a hard link in it ({})", std::strerror(errno));
  else if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    trouble = fmt::format("cannot lock a file in it ({})", std::strerror(errno));
  close(fd);
  unlink(second.c_str());
  unlink(file.c_str());
  return trouble;
}

}  // namespace

std::vector<Finding> examineHost(const Machine& machine, const std::string& root) {
  Findings findings;
  for (const auto examine : {governor, turbo, smt, clockSource, swapSpace, quota, memoryLimit, others, groups})
    std::ranges::move(examine(machine, root), std::back_inserter(findings));
  return findings;
}

std::vector<Finding> examineCards(const Machine& machine, const Cards& cards) {
  std::vector<Finding> findings;
  for (const std::string& note : machine.notes)
    findings.push_back({Weight::Note, "machine", note, "what cannot be found out is not looked at"});
  for (const machine::Gpu& gpu : machine.gpus) card(gpu, cards, findings);
  return findings;
}

std::vector<Finding> examineFolder(const std::string& folder) {
  const fs::path at = existing(folder);
  if (const std::string trouble = tryFolder(at); !trouble.empty())
    return {{Weight::Spoils, "results", fmt::format("{}: {}", at.string(), trouble),
             "expc cannot keep two runs apart there, so it does not measure into this folder",
             "choose another folder with --results"}};
  return {{Weight::Fine, "results", fmt::format("{} is writable and lockable", at.string())}};
}

}  // namespace expc::validity
