#include "runtime/base/parallel.h"

#include <sched.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/base/failure.h"

namespace expc::base {

/// The affinity mask, since a container or taskset may grant fewer cores than the machine has.
unsigned allCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 0) return unsigned(CPU_COUNT(&cores));
  return std::max(1u, std::thread::hardware_concurrency());
}

Error forEach(int64_t count, unsigned threads, const std::function<Error(int64_t)>& work, const Tick& tick) {
  std::atomic<int64_t> next{0}, done{0};
  std::atomic<bool> stopped{false};
  std::mutex mutex;
  int64_t first = std::numeric_limits<int64_t>::max();  // index of the first item that failed so far
  std::string message;
  // Keeps the error of the smallest index. Takers of later items see `stopped` and end.
  const auto take = [&](int64_t item, Error error) {
    if (!error) return;
    const std::lock_guard lock(mutex);
    std::string text = toString(std::move(error));
    if (item < first) first = item, message = std::move(text);
    stopped = true;
  };
  // An exception that leaves a thread would end the program.
  const auto one = [&](int64_t item) -> Error {
    try {
      return work(item);
    } catch (const std::exception& exception) {
      return failure("item {}: {}", item, exception.what());
    }
  };
  // Items are taken in order, and an item that was taken is finished. So all items before one that failed are
  // finished too.
  const auto run = [&](const Tick& told) {
    while (!stopped) {
      const int64_t item = next++;
      if (item >= count) return;
      take(item, one(item));
      const int64_t ended = ++done;
      // An error of the tick counts before all items.
      if (told) take(-1, told(ended, count));
    }
  };
  {
    std::vector<std::jthread> helpers;
    try {
      for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([&run] { run(nullptr); });
    } catch (const std::system_error&) {
      // No more threads are available: the existing ones do all the work.
    }
    run(tick);
  }
  return stopped ? failure("{}", message) : Error::success();
}

}  // namespace expc::base
