#include "nullgpu/core/host_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "nullgpu/core/host_memory.h"
#include "nullgpu/core/process.h"

namespace nullgpu {
namespace {

constexpr size_t kSmall = size_t{64} << 10;  // below, the checksum costs less than the pages' protection

std::atomic<int> host_functions{0};

uint64_t mixed(const char* bytes, size_t count, uint64_t sum) {
  for (; count >= 8; bytes += 8, count -= 8) {
    uint64_t word;
    std::memcpy(&word, bytes, 8);
    sum = (sum ^ word) * 0x9E3779B97F4A7C15u;
    sum ^= sum >> 29;
  }
  for (; count > 0; ++bytes, --count) sum = (sum ^ uint64_t(static_cast<unsigned char>(*bytes))) * 0x100000001B3u;
  return sum;
}

}  // namespace

/// All guards of the process. Its lock is never held where a guarded page is written, so a signal's handler may take
/// it.
class Guards {
 public:
  std::mutex mutex;
  std::vector<HostGuard*> all;

  HostGuard* overlapping(const HostGuard* but, const char* begin, size_t bytes, HostGuard::Side side) {
    const auto found = std::ranges::find_if(
        all, [&](HostGuard* each) { return each != but && each->side_ == side && each->overlaps(begin, bytes); });
    return found == all.end() ? nullptr : *found;
  }
  HostGuard* anyOverlapping(const char* begin, size_t bytes) {
    if (HostGuard* found = overlapping(nullptr, begin, bytes, HostGuard::Side::Read)) return found;
    return overlapping(nullptr, begin, bytes, HostGuard::Side::Written);
  }
  HostGuard* protecting(const char* address) {
    const auto found = std::ranges::find_if(
        all, [&](HostGuard* each) { return address >= each->pages_begin_ && address < each->pages_end_; });
    return found == all.end() ? nullptr : *found;
  }
  /// Pages from `begin` to `end` can be written again, but for those that another guard keeps.
  void reopen(char* begin, char* end) {
    for (char* at = begin; at < end;) {
      if (const HostGuard* keeper = protecting(at)) {
        at = keeper->pages_end_;
        continue;
      }
      char* until = end;
      for (const HostGuard* each : all)
        if (each->pages_begin_ > at) until = std::min(until, each->pages_begin_);
      mprotect(at, size_t(until - at), PROT_READ | PROT_WRITE);
      at = until;
    }
  }

  /// A forked process has no copies that wait.
  void leaveToChild() {
    for (HostGuard* each : std::exchange(all, {})) each->unprotect();
    mutex.unlock();
  }
};

namespace {

Guards& guards() {
  static auto* instance = [] {
    auto* made = new Guards;
    pthread_atfork([] { guards().mutex.lock(); }, [] { guards().mutex.unlock(); }, [] { guards().leaveToChild(); });
    return made;
  }();
  return *instance;
}

}  // namespace

/// What another copy is going to write first, or a function of the host may, changes rightly: its content is not
/// compared.
HostGuard::HostGuard(const void* host, size_t bytes, Side side, unsigned card)
    : host_(static_cast<const char*>(host)), bytes_(bytes), side_(side), card_(card), place_(Backtrace::here()) {
  const auto range = hostRange(host, bytes);
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  watched_ = side == Side::Read && range && range->writable && host_functions == 0 &&
             !known.overlapping(this, host_, bytes_, Side::Written);
  if (watched_) {
    if (bytes >= kSmall) protect();
    checksum_ = checksum();
  }
  known.all.push_back(this);
}

HostGuard::~HostGuard() {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  if (std::erase(known.all, this) > 0) unprotect();
}

/// Only the pages that lie in the buffer as a whole: what shares a page with its edge may be written.
void HostGuard::protect() {
  const auto begin = reinterpret_cast<uintptr_t>(host_), end = begin + bytes_;
  auto* first = reinterpret_cast<char*>(inPages(begin));
  auto* last = reinterpret_cast<char*>(end / kPage * kPage);
  if (first >= last || mprotect(first, size_t(last - first), PROT_READ) != 0) return;
  pages_begin_ = first;
  pages_end_ = last;
}

void HostGuard::unprotect() {
  char* const begin = std::exchange(pages_begin_, nullptr);
  char* const end = std::exchange(pages_end_, nullptr);
  if (begin) guards().reopen(begin, end);
}

uint64_t HostGuard::checksum() const {
  if (!pages_begin_) return mixed(host_, bytes_, bytes_);
  return mixed(pages_end_, size_t(host_ + bytes_ - pages_end_), mixed(host_, size_t(pages_begin_ - host_), bytes_));
}

void HostGuard::tell(const char* deed) const {
  say("nullgpu: the page-locked host buffer at %p was %s while a copy of %zu bytes %s card %u waits for it\n",
      static_cast<const void*>(host_), deed, bytes_, side_ == Side::Read ? "to" : "from", card_);
  say("the copy was queued here:\n");
  place_.print();
}

void HostGuard::check() {
  Guards& known = guards();
  std::unique_lock lock(known.mutex);
  if (side_ == Side::Written) {
    const HostGuard* reader = known.overlapping(this, host_, bytes_, Side::Read);
    if (!reader || !reader->watched_) return;
    reader->tell("written by another copy");
    say("the copy that writes it was queued here:\n");
    place_.print();
    std::abort();
  }
  if (!watched_ || checksum() == checksum_) return;
  tell("changed");
  say("it was changed between that call and the copy: at which place is not known, since no whole page of the buffer "
      "was written; wait for the copy (an event, a stream) before the buffer is used again\n");
  std::abort();
}

void refuseWaiting(const char* begin, size_t bytes, const char* deed) {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  const HostGuard* waiting = known.anyOverlapping(begin, bytes);
  if (!waiting) return;
  waiting->tell(deed);
  say("it was %s here:\n", deed);
  Backtrace::here().print();
  std::abort();
}

void prepareGuards() { guards(); }

void refuseChange(const void* address) {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  const HostGuard* waiting = known.protecting(static_cast<const char*>(address));
  if (!waiting) return;
  waiting->tell("changed");
  say("it was changed here:\n");
  Backtrace::here().print();
  std::abort();
}

HostFunctionWaits::HostFunctionWaits() { ++host_functions; }
HostFunctionWaits::~HostFunctionWaits() { --host_functions; }

}  // namespace nullgpu
