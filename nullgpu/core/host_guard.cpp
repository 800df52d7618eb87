// Guards of page-locked buffers: write protection, checksums, and the handler of faults. Several
// copies may wait for overlapping buffers, so the guards are in one list under one lock, and a page
// becomes writable only when its last guard is gone. The handler runs in the thread that faulted,
// possibly inside the program's own code, and must not allocate.

#include "nullgpu/core/host_guard.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "nullgpu/core/host_ranges.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/core/process.h"

namespace nullgpu {
namespace {

/// Bytes. Below, a checksum costs less than changing the protection of pages.
constexpr size_t kSmall = size_t{64} << 10;

/// The number of host functions that wait in streams.
std::atomic<int> host_functions{0};

/// Prints to stderr without allocating, for signal handlers. Longer lines are cut.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::clamp(length, 0, int(sizeof line) - 1));
}

/// Continues the checksum `sum` over `count` bytes: a multiplicative hash, 8 bytes at a time
/// (golden ratio, then FNV's prime for the rest). It need not resist anything but accidents.
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

/// All guards of the process. No guarded page is written while its lock is held, so the handler,
/// which takes it, cannot deadlock with the thread that it interrupts.
class Guards {
 public:
  std::mutex mutex;
  std::vector<HostGuard*> all;

  /// A guard other than `but` with that side that shares bytes with the range, or null.
  HostGuard* overlapping(const HostGuard* but, const char* begin, size_t bytes, HostGuard::Side side) {
    const auto found = std::ranges::find_if(
        all, [&](HostGuard* each) { return each != but && each->side_ == side && each->overlaps(begin, bytes); });
    return found == all.end() ? nullptr : *found;
  }
  /// The guard that write-protects `address`, or null.
  HostGuard* protecting(const char* address) {
    const auto found = std::ranges::find_if(
        all, [&](HostGuard* each) { return address >= each->pages_begin_ && address < each->pages_end_; });
    return found == all.end() ? nullptr : *found;
  }
  /// Makes the pages from `begin` to `end` writable again, except those that another guard still
  /// protects.
  void reopen(char* begin, char* end) {
    for (char* at = begin; at < end;) {
      if (const HostGuard* keeper = protecting(at)) {
        at = keeper->pages_end_;
        continue;
      }
      // Up to the next protected page, nobody needs these.
      char* until = end;
      for (const HostGuard* each : all)
        if (each->pages_begin_ > at) until = std::min(until, each->pages_begin_);
      mprotect(at, size_t(until - at), PROT_READ | PROT_WRITE);
      at = until;
    }
  }

  /// Runs in a forked child: it has no waiting copies, so all its pages become writable. Unlocks
  /// what the fork locked.
  void leaveToChild() {
    for (HostGuard* each : std::exchange(all, {})) each->unprotect();
    mutex.unlock();
  }
};

namespace {

/// Never destroyed: guards live until the process is gone. A fork takes the lock so that the child
/// never inherits it from a thread that is not there.
Guards& guards() {
  static auto* instance = [] {
    auto* made = new Guards;
    pthread_atfork([] { guards().mutex.lock(); }, [] { guards().mutex.unlock(); }, [] { guards().leaveToChild(); });
    return made;
  }();
  return *instance;
}

}  // namespace

Backtrace Backtrace::here() {
  Backtrace result;
  result.count = backtrace(result.frames, kMost);
  return result;
}

void Backtrace::print() const { backtrace_symbols_fd(frames, count, STDERR_FILENO); }

/// A buffer that an earlier copy or a host function is going to write changes rightly before this
/// copy, so it is not watched. Neither is one that is not page-locked or not writable by this
/// process.
HostGuard::HostGuard(const void* host, size_t bytes, Side side, unsigned card)
    : host_(static_cast<const char*>(host)), bytes_(bytes), side_(side), card_(card), place_(Backtrace::here()) {
  const auto range = hostRange(host, bytes);
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  watched_ = side == Side::Read && range && range->writable && host_functions == 0 &&
             !known.overlapping(this, host_, bytes_, Side::Written);
  // Protect first: the checksum covers only what is not protected.
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

/// Protects the pages that lie in the buffer as a whole. Pages at its edges may hold other data,
/// which the program may write. A failure leaves everything to the checksum.
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

/// Checksum of the whole buffer, or of its parts before and behind the protected pages.
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
  // This copy is going to write. Another copy queued earlier or elsewhere still waits to read the
  // same bytes: the program forgot to order the two.
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

/// Ends the process over an access that happens now: prints the copy's place, then this one's.
[[noreturn]] static void blame(const HostGuard& waiting, const char* deed) {
  waiting.tell(deed);
  say("it was %s here:\n", deed);
  Backtrace::here().print();
  std::abort();
}

void refuseWaiting(const char* begin, size_t bytes, const char* deed) {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  for (const auto side : {HostGuard::Side::Read, HostGuard::Side::Written})
    if (const HostGuard* waiting = known.overlapping(nullptr, begin, bytes, side)) blame(*waiting, deed);
}

namespace {

/// Ends the process if a waiting copy protects the page of `address`; otherwise returns.
void refuseChange(const void* address) {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  if (const HostGuard* waiting = known.protecting(static_cast<const char*>(address))) blame(*waiting, "changed");
}

/// The handler that was installed before ours.
struct sigaction before;

/// Restores the system's action. On return from the handler the instruction faults again, and that
/// ends the process with the usual signal and core dump.
void leaveToSystem(int signal) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

/// Hands a fault that is not ours to the previous handler, in the form that it was installed with.
void passOn(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    leaveToSystem(signal);
  } else {
    before.sa_handler(signal);
  }
}

/// Whether the access may be repeated. Between the fault and our lock, the copy may have ended and
/// opened the page; then the access succeeds now. The limit stops a loop over a page that something
/// else protects.
bool mayTryAgain(const void* address) {
  static std::atomic<const void*> last{nullptr};
  static std::atomic<int> times{0};
  if (last.exchange(address) != address) times = 0;
  const auto range = hostRange(address);
  return range && range->writable && ++times < 100;
}

/// The handler of SIGSEGV. Only faults of access rights (SEGV_ACCERR) can be ours: the pages are
/// mapped.
void fault(int signal, siginfo_t* info, void* context) {
  const bool of_access = info->si_code == SEGV_ACCERR;
  if (const auto card = of_access ? cardOf(info->si_addr) : std::nullopt) {
    say("nullgpu: the host touched memory of card %u at %p\n", *card, info->si_addr);
    Backtrace::here().print();
    leaveToSystem(signal);
    return;
  }
  if (of_access) {
    refuseChange(info->si_addr);
    if (mayTryAgain(info->si_addr)) return;
  }
  passOn(signal, info, context);
}

}  // namespace

void catchHostTouches() {
  Backtrace::here();  // loads the unwinder, which allocates; a handler must not
  guards();           // makes the list, for the same reason
  struct sigaction own = {};
  own.sa_sigaction = fault;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&own.sa_mask);
  sigaction(SIGSEGV, &own, &before);
}

std::shared_ptr<void> hostFunctionWaits() {
  ++host_functions;
  return {nullptr, [](void*) { --host_functions; }};
}

}  // namespace nullgpu
