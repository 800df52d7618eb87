// Settings of the host's memory. Training on the CPU frees and allocates activations of many MiB in
// each step; glibc would return them to the system each time, and the page faults cost more than
// many operators. So malloc is told to keep everything on one heap, and the heap is given huge
// pages in advance.

#include "runtime/worker/device/host.h"

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
#include "runtime/base/format.h"
#include "runtime/base/process.h"

namespace expc::device {
namespace {

/// Bytes by which the heap grows at a time.
constexpr int kTopPad = 256 << 20;
constexpr size_t kHugePage = 2 << 20;
bool freed_memory_is_kept = false;
size_t reserved_for_huge_pages = 0;

/// Whether addresses cost nothing until they are used: they have no limit, and strict overcommit
/// does not count them.
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

/// Extends malloc's heap by `size` bytes, none of them resident, and asks for huge pages there.
/// malloc would do so by itself only with GLIBC_TUNABLES set before the program starts. @returns
/// false if the system refuses
bool reserveHugePages(size_t size) {
  // Try the extension ourselves first. If malloc met the refusal it would go on in separate pieces,
  // without one heap.
  const auto whole = static_cast<intptr_t>(size + 2 * kTopPad);
  void* const begin = sbrk(whole);
  if (begin == reinterpret_cast<void*>(-1)) return false;
  sbrk(-whole);
  // The compiler may remove a malloc that is freed at once; it must not remove this one, so the
  // pointer is volatile.
  void* volatile block = std::malloc(size);
  std::free(block);
  const auto from = (reinterpret_cast<uintptr_t>(begin) + kHugePage - 1) / kHugePage * kHugePage;
  const auto to = reinterpret_cast<uintptr_t>(sbrk(0)) / kHugePage * kHugePage;
  return to > from && madvise(reinterpret_cast<void*>(from), to - from, MADV_HUGEPAGE) == 0;
}

}  // namespace

void keepFreedMemory() {
  if (freed_memory_is_kept) return;
  // Nothing is mapped separately, nothing is trimmed, and the heap grows in large pieces.
  freed_memory_is_kept =
      mallopt(M_MMAP_MAX, 0) == 1 && mallopt(M_TRIM_THRESHOLD, -1) == 1 && mallopt(M_TOP_PAD, kTopPad) == 1;
  if (!addressesAreFree()) return;
  // Half as much is tried after each refusal.
  constexpr size_t kMost = size_t{8} << 30, kLeast = size_t{512} << 20;
  for (size_t size = kMost; size >= kLeast && reserved_for_huge_pages == 0; size /= 2)
    if (reserveHugePages(size)) reserved_for_huge_pages = size;
}

void describeAllocator(json::Object& environment) {
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

base::Clock::time_point processStart() {
  const auto now = base::Clock::now();
  const uint64_t started = base::processOf(getpid()).started;  // clock ticks since boot
  const double age = base::bootSeconds() - double(started) / double(sysconf(_SC_CLK_TCK));
  // The clocks do not agree, so the age is unknown.
  if (started == 0 || age < 0 || age > 1e7) return now;
  return now - std::chrono::duration_cast<base::Clock::duration>(std::chrono::duration<double>(age));
}

}  // namespace expc::device
