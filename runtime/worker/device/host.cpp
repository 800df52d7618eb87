#include "runtime/worker/device/host.h"

#include <fmt/format.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>

#include "runtime/base/clock.h"
#include "runtime/base/process.h"

namespace expc::device {
namespace {

constexpr int kTopPad = 256 << 20;
constexpr size_t kHugePage = 2 << 20;
bool freed_memory_is_kept = false;
size_t reserved_for_huge_pages = 0;

/// True if addresses cost nothing until they are used: no limit on them, and none are counted as promised memory.
bool addressesAreFree() {
  rlimit limit{};
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA})
    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY) return false;
  std::ifstream policy("/proc/sys/vm/overcommit_memory");
  constexpr int kStrict = 2;
  int value = kStrict;
  policy >> value;
  return value != kStrict;
}

/// Extends malloc's heap by `size` bytes, of which none is resident, and asks for huge pages there: malloc itself asks
/// for them only if GLIBC_TUNABLES says so when a program starts. False if the system refuses.
bool reserveHugePages(size_t size) {
  // malloc would go on without one contiguous heap if it met the refusal itself.
  const auto whole = static_cast<intptr_t>(size + 2 * kTopPad);
  void* const begin = sbrk(whole);
  if (begin == reinterpret_cast<void*>(-1)) return false;
  sbrk(-whole);
  // Through a pointer that the compiler has to believe in: it would leave out a pair of malloc and free.
  void* volatile block = std::malloc(size);
  std::free(block);
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage;
  const auto to = reinterpret_cast<uintptr_t>(sbrk(0)) / kHugePage * kHugePage;
  return to > from && madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE) == 0;
}

}  // namespace

void keepFreedMemory() {
  if (freed_memory_is_kept) return;
  // No separate mappings, no trimming, and growth in large pieces.
  freed_memory_is_kept =
      mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1 && mallopt(M_TOP_PAD, kTopPad) == 1;
  if (!addressesAreFree()) return;
  constexpr size_t kMost = size_t{8} << 30, kLeast = size_t{512} << 20;
  for (size_t size = kMost; size >= kLeast && reserved_for_huge_pages == 0; size /= 2)
    if (reserveHugePages(size)) reserved_for_huge_pages = size;
}

void describeAllocator(llvm::json::Object& environment) {
  std::string allocator = "glibc";
  if (freed_memory_is_kept) allocator += " mmap_max=0 trim_threshold=-1 top_pad=256MiB";
  if (reserved_for_huge_pages > 0) allocator += fmt::format(" huge_pages={}MiB", reserved_for_huge_pages >> 20);
  environment["allocator"] = allocator;
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
  const uint64_t started = base::processOf(getpid()).started;  // ticks since boot
  const double age = base::bootSeconds() - static_cast<double>(started) / static_cast<double>(sysconf(_SC_CLK_TCK));
  if (started == 0 || age < 0 || age > 1e7) return now;
  return now - std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(age));
}

}  // namespace expc::device
