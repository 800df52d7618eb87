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
namespace {

class Work {
 public:
  Work(int64_t count, const std::function<llvm::Error(int64_t)>& work) : count_(count), work_(work) {}

  void run(const Tick& tick) {
    // Items are taken in order, and one that is taken is finished: so are all before one that failed.
    while (!stopped_) {
      const int64_t item = next_++;
      if (item >= count_) return;
      if (auto error = one(item)) fail(item, llvm::toString(std::move(error)));
      const int64_t done = ++done_;
      if (!tick) continue;
      if (auto error = tick(done, count_)) fail(-1, llvm::toString(std::move(error)));
    }
  }

  llvm::Error result() const { return stopped_ ? llvm::createStringError(message_) : llvm::Error::success(); }

 private:
  llvm::Error one(int64_t item) const {
    try {
      return work_(item);
    } catch (const std::exception& exception) {
      return failure("item {}: {}", item, exception.what());
    }
  }
  void fail(int64_t item, std::string message) {
    const std::lock_guard lock(mutex_);
    if (item < first_) {
      first_ = item;
      message_ = std::move(message);
    }
    stopped_ = true;
  }

  const int64_t count_;
  const std::function<llvm::Error(int64_t)>& work_;
  std::atomic<int64_t> next_{0}, done_{0};
  std::atomic<bool> stopped_{false};
  std::mutex mutex_;
  int64_t first_ = std::numeric_limits<int64_t>::max();
  std::string message_;
};

}  // namespace

unsigned allCores() {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  if (sched_getaffinity(0, sizeof(cores), &cores) == 0 && CPU_COUNT(&cores) > 0)
    return static_cast<unsigned>(CPU_COUNT(&cores));
  return std::max(1u, std::thread::hardware_concurrency());
}

llvm::Error forEach(int64_t count, unsigned threads, const std::function<llvm::Error(int64_t)>& work,
                    const Tick& tick) {
  Work shared(count, work);
  {
    std::vector<std::jthread> helpers;
    try {
      for (unsigned i = 1; i < threads; ++i) helpers.emplace_back([&shared] { shared.run(nullptr); });
    } catch (const std::system_error&) {
      // No more threads to be had: those that are there do it all.
    }
    shared.run(tick);
  }
  return shared.result();
}

}  // namespace expc::base
