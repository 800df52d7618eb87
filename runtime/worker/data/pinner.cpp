#include "runtime/worker/data/pinner.h"

#include <fmt/format.h>

#include <cassert>
#include <cstring>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"

namespace expc::data {

void copyAcross(Done& done, Slots& from, Slots& to) {
  const size_t source = done.job.slot;
  if (done.error.empty()) {
    const auto target = to.take();
    assert(target);
    // Only the images that are there, then the labels, which follow at the same place in both.
    const auto count = static_cast<size_t>(done.job.batch.count);
    std::memcpy(to.images(*target), from.images(source), count * from.imageBytes());
    std::memcpy(to.labels(*target), from.labels(source), count * sizeof(int64_t));
    done.job.slot = *target;
  }
  from.give(source);
}

llvm::Expected<std::unique_ptr<Pinner>> Pinner::start(Crew& crew, Slots& from, Slots& to) {
  std::unique_ptr<Pinner> pinner(new Pinner(crew, from, to));
  try {
    pinner->thread_ = std::thread([raw = pinner.get()] { raw->work(); });
  } catch (const std::system_error& error) {
    return base::failure("loader: the pinning thread does not start: {}", error.what());
  }
  return pinner;
}

Pinner::~Pinner() {
  crew_.interrupt();
  if (thread_.joinable()) thread_.join();
}

void Pinner::work() {
  bool over = false;
  while (!over) {
    auto received = crew_.receive();
    std::optional<Done> done;
    std::optional<std::string> failure;
    if (!received)
      failure = llvm::toString(received.takeError());
    else
      done = std::move(*received);
    if (done) copyAcross(*done, from_, to_);
    over = !done;
    {
      const std::lock_guard lock(mutex_);
      if (done) done_.push_back(std::move(*done));
      failure_ = std::move(failure);
      over_ = over;
    }
    copied_.notify_all();
  }
}

llvm::Expected<std::optional<Done>> Pinner::receive() {
  std::unique_lock lock(mutex_);
  copied_.wait(lock, [&] { return over_ || !done_.empty(); });
  if (!done_.empty()) {
    std::optional<Done> done = std::move(done_.front());
    done_.pop_front();
    return done;
  }
  if (failure_) return llvm::createStringError(*failure_);
  return std::optional<Done>();
}

}  // namespace expc::data
