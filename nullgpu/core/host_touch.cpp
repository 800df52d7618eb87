#include <signal.h>

#include <atomic>

#include "nullgpu/core/backtrace.h"
#include "nullgpu/core/host_guard.h"
#include "nullgpu/core/host_memory.h"
#include "nullgpu/core/memory.h"

namespace nullgpu {
namespace {

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
  unsigned card = 0;
  if (of_access && isCardAddress(info->si_addr, &card)) {
    say("nullgpu: the host touched memory of card %u at %p\n", card, info->si_addr);
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
  prepareGuards();
  struct sigaction own = {};
  own.sa_sigaction = fault;
  own.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&own.sa_mask);
  sigaction(SIGSEGV, &own, &before);
}

}  // namespace nullgpu
