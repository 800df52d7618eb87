#include "runtime/worker/workload/image/replica_threads.h"

#include <ATen/Parallel.h>

#include <cstdint>

#include "runtime/worker/profile/launching_threads.h"
#include "runtime/worker/serve/memory_policy.h"

namespace expc::workload::image {

ReplicaThreads::ReplicaThreads(const std::vector<ReplicaPlace>& places) : failures_(places.size()) {
  for (size_t i = 0; i < places.size(); ++i) threads_.emplace_back([this, i, place = places[i]] { work(i, place); });
}

ReplicaThreads::~ReplicaThreads() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  begin_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReplicaThreads::run(size_t count, const std::function<void(size_t)>& task) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  wanted_ = running_ = count;
  failures_.assign(failures_.size(), nullptr);
  ++round_;
  begin_.notify_all();
  end_.wait(lock, [&] { return running_ == 0; });
  for (const std::exception_ptr& failure : failures_) {
    if (failure) std::rethrow_exception(failure);
  }
}

void ReplicaThreads::work(size_t index, const ReplicaPlace& place) {
  profile::markLaunchingThread();
  // A narrower mask than the engine saw leaves the thread where it is, as it does a rank.
  serve::bindCores(place.cores);
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  // Under the lock: it writes a default for threads to come. OpenMP's teams belong to the thread that starts them and
  // inherit its cores.
  at::set_num_threads(place.threads);
  while (true) {
    begin_.wait(lock, [&] { return stopping_ || (round_ != seen && index < wanted_); });
    if (stopping_) return;
    seen = round_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      (*task_)(index);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failures_[index] = failure;
    if (--running_ == 0) end_.notify_all();
  }
}

}  // namespace expc::workload::image
