#include "runtime/worker/device/host.h"

#include <malloc.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>

namespace expc::device {
namespace {

constexpr int kTopPad = 256 << 20;
bool freed_memory_is_kept = false;

}  // namespace

void keepFreedMemory() {
  // No separate mappings, no trimming, and growth in large pieces.
  freed_memory_is_kept =
      mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1 && mallopt(M_TOP_PAD, kTopPad) == 1;
}

void describeAllocator(llvm::json::Object& environment) {
  environment["allocator"] = freed_memory_is_kept ? "glibc mmap_max=0 trim_threshold=-1 top_pad=256MiB" : "glibc";
}

size_t allowedCores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return static_cast<size_t>(std::max(1, CPU_COUNT(&set)));
}

bool bindToCores(const std::vector<int>& cores) {
  if (cores.empty()) return true;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (int core : cores) {
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &set);
  }
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

std::optional<double> residentPeak() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::stod(line.substr(6)) * 1024;
  }
  return std::nullopt;
}

std::chrono::steady_clock::time_point processStart() {
  const auto now = std::chrono::steady_clock::now();
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  // The second field is the program's name in parentheses; the start is the 20th after it, in ticks since boot.
  const size_t close = text.rfind(')');
  if (close == std::string::npos) return now;
  std::istringstream fields(text.substr(close + 1));
  std::string field;
  for (int i = 0; i < 20; ++i) fields >> field;
  timespec boot{};
  if (!fields || clock_gettime(CLOCK_BOOTTIME, &boot) != 0) return now;
  const double age = static_cast<double>(boot.tv_sec) + 1e-9 * static_cast<double>(boot.tv_nsec) -
                     std::stod(field) / static_cast<double>(sysconf(_SC_CLK_TCK));
  if (age < 0 || age > 1e7) return now;
  return now - std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(age));
}

}  // namespace expc::device
