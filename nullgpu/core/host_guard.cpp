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

constexpr size_t kSmall = size_t{64} << 10;  // below, the checksum costs less than the pages' protection

std::atomic<int> host_functions{0};

/// On stderr without what allocates: also from a signal's handler.
[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  const int length = std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, std::clamp(length, 0, int(sizeof line) - 1));
}

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

Backtrace Backtrace::here() {
  Backtrace result;
  result.count = backtrace(result.frames, kMost);
  return result;
}

void Backtrace::print() const { backtrace_symbols_fd(frames, count, STDERR_FILENO); }

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

/// For what is done at this moment.
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

/// If `address` lies in a page that a copy waits for, tells so and does not return.
void refuseChange(const void* address) {
  Guards& known = guards();
  const std::lock_guard lock(known.mutex);
  if (const HostGuard* waiting = known.protecting(static_cast<const char*>(address))) blame(*waiting, "changed");
}

struct sigaction before;

/// The instruction is tried again, and what the system does of itself ends the process.
void leaveToSystem(int signal) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

void passOn(int signal, siginfo_t* info, void* context) {
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(signal, info, context);
  } else if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) {
    leaveToSystem(signal);
  } else {
    before.sa_handler(signal);
  }
}

/// The copy that forbade the access may have ended since: the access is tried again, though not for ever.
bool mayTryAgain(const void* address) {
  static std::atomic<const void*> last{nullptr};
  static std::atomic<int> times{0};
  if (last.exchange(address) != address) times = 0;
  const auto range = hostRange(address);
  return range && range->writable && ++times < 100;
}

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
  Backtrace::here();  // loads what unwinds, which a handler must not
  guards();           // which a handler must not make, either
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
