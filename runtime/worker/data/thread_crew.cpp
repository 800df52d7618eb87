#include <fmt/format.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/worker/data/crew.h"

namespace expc::data {

std::string fillBatch(const ItemWriter& writer, const std::vector<int64_t>& order, int64_t begin, int64_t count,
                      char* images, int64_t* labels, const std::atomic<bool>& abandoned, std::vector<uint8_t>& scratch,
                      int64_t& skipped) {
  for (int64_t i = 0; i < count; ++i) {
    if (abandoned.load(std::memory_order_relaxed)) return "the loader was stopped";
    char* image = images + static_cast<size_t>(i) * writer.imageBytes();
    if (auto error = writer.write(order, begin + i, image, labels + i, scratch, skipped))
      return llvm::toString(std::move(error));
  }
  return {};
}

namespace {

class ThreadCrew : public Crew {
 public:
  explicit ThreadCrew(const CrewOptions& options)
      : options_(options), writer_(*options.images, *options.preparation, options.on_corrupt) {}

  ~ThreadCrew() override {
    abandoned_ = true;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    job_given_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  llvm::Error start() {
    queues_.resize(options_.workers);
    try {
      for (unsigned i = 0; i < options_.workers; ++i) threads_.emplace_back([this, i] { work(i); });
    } catch (const std::system_error& error) {
      return base::failure("loader: worker {} of {} does not start: {}", threads_.size() + 1, options_.workers,
                           error.what());
    }
    return llvm::Error::success();
  }

  llvm::Error send(unsigned worker, Job job) override {
    {
      const std::lock_guard lock(mutex_);
      queues_[worker].push_back(std::move(job));
    }
    job_given_.notify_all();
    return llvm::Error::success();
  }

  llvm::Expected<std::optional<Done>> receive() override {
    std::unique_lock lock(mutex_);
    job_done_.wait(lock, [&] { return interrupted_ || !done_.empty(); });
    if (interrupted_) return std::optional<Done>();
    std::optional<Done> done = std::move(done_.front());
    done_.pop_front();
    return done;
  }

  void interrupt() override {
    {
      const std::lock_guard lock(mutex_);
      interrupted_ = true;
    }
    job_done_.notify_all();
  }

 private:
  void work(unsigned worker) {
    std::vector<uint8_t> scratch;
    while (true) {
      Done done;
      {
        std::unique_lock lock(mutex_);
        job_given_.wait(lock, [&] { return stopping_ || !queues_[worker].empty(); });
        if (stopping_) return;
        done.job = std::move(queues_[worker].front());
        queues_[worker].pop_front();
      }
      const Job& job = done.job;
      done.error =
          fillBatch(writer_, *job.batch.order, job.batch.begin, job.batch.count, options_.slots->images(job.slot),
                    options_.slots->labels(job.slot), abandoned_, scratch, done.skipped);
      {
        const std::lock_guard lock(mutex_);
        done_.push_back(std::move(done));
      }
      job_done_.notify_all();
    }
  }

  const CrewOptions options_;
  const ItemWriter writer_;
  std::atomic<bool> abandoned_{false};
  std::vector<std::thread> threads_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable job_given_, job_done_;
  std::vector<std::deque<Job>> queues_;
  std::deque<Done> done_;
  bool stopping_ = false, interrupted_ = false;
};

}  // namespace

llvm::Expected<std::unique_ptr<Crew>> startThreads(const CrewOptions& options) {
  auto crew = std::make_unique<ThreadCrew>(options);
  if (auto error = crew->start()) return error;
  return std::unique_ptr<Crew>(std::move(crew));
}

}  // namespace expc::data
