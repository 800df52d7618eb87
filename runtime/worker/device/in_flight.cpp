#include "runtime/worker/device/in_flight.h"

#include <cstdio>
#include <exception>

namespace expc::device {

InFlight::~InFlight() {
  try {
    if (std::uncaught_exceptions() == 0) reclaim(0);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "copies to the device are given up: %s\n", error.what());
  }
  if (!copies_.empty()) new auto(std::move(copies_));
}

void InFlight::add(CopyQueue::Mark mark, std::shared_ptr<void> memory) {
  copies_.emplace_back(std::move(mark), std::move(memory));
}

void InFlight::reclaim(size_t most) {
  while (!copies_.empty()) {
    const CopyQueue::Mark& mark = copies_.front().first;
    if (copies_.size() > most) queue_.wait(mark);
    if (!queue_.reached(mark)) return;
    copies_.pop_front();
  }
}

}  // namespace expc::device
