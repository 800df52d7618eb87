#pragma once

// A thread for each replica of dp, kept between steps, bound to its device's cores.

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/worker/workload/image/parallel.h"

namespace expc::workload::image {

class ReplicaThreads {
 public:
  explicit ReplicaThreads(const std::vector<ReplicaPlace>& places);
  ~ReplicaThreads();
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  /// Calls task(i) in thread i for the first `count` threads and returns when all have returned. The first replica's
  /// exception, in their order, is thrown again here.
  void run(size_t count, const std::function<void(size_t)>& task);

 private:
  void work(size_t index, const ReplicaPlace& place);

  std::mutex mutex_;
  std::condition_variable begin_, end_;
  const std::function<void(size_t)>* task_ = nullptr;
  size_t wanted_ = 0, running_ = 0;
  uint64_t round_ = 0;
  bool stopping_ = false;
  std::vector<std::exception_ptr> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace expc::workload::image
