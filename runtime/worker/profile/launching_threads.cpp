// Measures the processor time of threads that launch work. Threads are recognised by their names in
// /proc, because autograd's threads belong to torch and cannot be instrumented.

#include "runtime/worker/profile/launching_threads.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "runtime/base/clock.h"

namespace expc::profile {
namespace {

constexpr const char* kMarked = "expc_launches";  // a thread's name has at most 15 characters
/// The beginning of the names that torch gives the threads of a device's backward passes.
constexpr std::string_view kAutograd = "pt_autograd_";

/// The id of the clock that counts a thread's processor time, in Linux's encoding (the kernel's
/// MAKE_THREAD_CPUCLOCK). pthread_getcpuclockid would need the pthread_t, which we have only for
/// our own threads.
clockid_t clockOf(pid_t thread) {
  constexpr int kScheduled = 2, kOfThread = 4;
  return static_cast<clockid_t>((~unsigned(thread) << 3) | kScheduled | kOfThread);
}

}  // namespace

void markLaunchingThread() { pthread_setname_np(pthread_self(), kMarked); }

/// The calling thread counts whatever its name is; the others by their names.
double launchingSeconds() {
  double seconds = base::secondsOn(CLOCK_THREAD_CPUTIME_ID);
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::getline(std::ifstream(entry.path() / "comm"), name);
    if (name != kMarked && !name.starts_with(kAutograd)) continue;
    const std::string digits = entry.path().filename().string();
    pid_t thread = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), thread);
    if (thread != gettid()) seconds += base::secondsOn(clockOf(thread));
  }
  return seconds;
}

}  // namespace expc::profile
