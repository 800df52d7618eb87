#include <fmt/format.h>

#include <system_error>
#include <thread>

#include "runtime/base/failure.h"
#include "runtime/worker/data/crew.h"

namespace expc::data {

Done prepare(Job job, const ItemWriter& writer, const Slots& slots, std::vector<uint8_t>& scratch,
             const std::atomic<bool>& abandoned) {
  Done done{std::move(job), 0, ""};
  const auto& [ticket, slot, batch] = done.job;
  for (int64_t i = 0; i < batch.count && done.error.empty(); ++i) {
    char* image = slots.images(slot) + static_cast<size_t>(i) * writer.imageBytes();
    if (abandoned.load(std::memory_order_relaxed))
      done.error = "the loader was stopped";
    else if (auto error =
                 writer.write(*batch.order, batch.begin + i, image, slots.labels(slot) + i, scratch, done.skipped))
      done.error = llvm::toString(std::move(error));
  }
  return done;
}

namespace {

class ThreadCrew : public Crew {
 public:
  ThreadCrew(const Images& images, const LoaderOptions& options, Slots& slots)
      : writer_(images, options), slots_(slots), jobs_(options.workers) {}

  ~ThreadCrew() override {
    abandoned_ = true;
    for (auto& jobs : jobs_) jobs.close();
  }

  llvm::Error start() {
    try {
      for (auto& jobs : jobs_)
        threads_.emplace_back([&] {
          std::vector<uint8_t> scratch;
          while (auto job = jobs.take()) done_.put(prepare(std::move(*job), writer_, slots_, scratch, abandoned_));
        });
    } catch (const std::system_error& error) {
      return base::failure("loader: worker {} of {} does not start: {}", threads_.size() + 1, jobs_.size(),
                           error.what());
    }
    return llvm::Error::success();
  }

  llvm::Error send(unsigned worker, Job job) override {
    jobs_[worker].put(std::move(job));
    return llvm::Error::success();
  }
  llvm::Expected<std::optional<Done>> receive() override { return done_.take(); }
  void interrupt() override { done_.close(); }

 private:
  const ItemWriter writer_;
  Slots& slots_;
  std::atomic<bool> abandoned_{false};
  std::vector<Conveyor<Job>> jobs_;  // of each worker
  Conveyor<Done> done_;
  std::vector<std::jthread> threads_;  // last: they use the others
};

}  // namespace

llvm::Expected<std::unique_ptr<Crew>> startThreads(const Images& images, const LoaderOptions& options, Slots& slots) {
  auto crew = std::make_unique<ThreadCrew>(images, options, slots);
  if (auto error = crew->start()) return error;
  return std::unique_ptr<Crew>(std::move(crew));
}

}  // namespace expc::data
