#pragma once

// Images for tests of loaders: each is its own index; reading one may take a random time, fail, throw or kill.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/images/batches.h"

namespace expc::data::fakes {

class NumberImages : public Images {
 public:
  explicit NumberImages(int64_t items) : items_(items) {}

  bool slow = false;
  std::set<int64_t> corrupt;
  int64_t thrown = -1, killed = -1, left = -1;
  mutable std::atomic<int64_t> reads{0};

  int64_t count() const override { return items_; }
  int64_t classes() const override { return items_; }
  const std::string& origin() const override { return origin_; }
  std::optional<Shape> shape() const override { return Shape{1, 16, 1}; }
  int64_t label(int64_t index) const override { return index; }
  Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const override {
    ++reads;
    if (corrupt.contains(index))
      return llvm::make_error<CorruptImage>("img/" + std::to_string(index) + ".jpg cannot be decoded");
    if (index == thrown) throw std::runtime_error("thrown at item");
    if (index == killed) raise(SIGKILL);
    if (index == left) _exit(7);
    if (slow) std::this_thread::sleep_for(std::chrono::microseconds((index * 7919) % 400));
    scratch.assign(16, 0);
    std::memcpy(scratch.data(), &index, sizeof index);
    const pid_t worker = gettid();
    std::memcpy(scratch.data() + 8, &worker, sizeof worker);
    return Pixels{scratch.data(), 1, 16, 1};
  }

 private:
  int64_t items_;
  std::string origin_ = "numbers";
};

/// Bytes as they are.
inline Preparation plain() {
  Preparation result;
  result.rows = 1;
  result.cols = 16;
  result.channels = 1;
  result.element = Element::UInt8;
  result.normalise = false;
  return result;
}

/// The index that was prepared at position `i`, from its pixels; and the worker that did it.
inline int64_t numberAt(const HostBatch& batch, int64_t i) {
  int64_t index = 0;
  std::memcpy(&index, static_cast<const char*>(batch.images) + 16 * i, sizeof index);
  return index;
}
inline pid_t workerAt(const HostBatch& batch, int64_t i) {
  pid_t worker = 0;
  std::memcpy(&worker, static_cast<const char*>(batch.images) + 16 * i + 8, sizeof worker);
  return worker;
}

/// 0, 1, 2 … in even epochs, backwards in odd ones.
inline std::vector<int64_t> upAndDown(int64_t items, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(items));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (epoch % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

inline LoaderOptions batchesOf(int64_t items, int64_t batch) {
  LoaderOptions options;
  options.order = [items](int64_t epoch) { return upAndDown(items, epoch); };
  options.batch = batch;
  options.epochs = 1;
  options.preparation = plain();
  return options;
}

/// Memory that counts what is out.
inline Memory counted(std::atomic<int64_t>& out) {
  return [&out](size_t bytes) -> std::shared_ptr<void> {
    ++out;
    return {std::aligned_alloc(64, (bytes + 63) / 64 * 64), [&out](void* memory) {
              --out;
              std::free(memory);
            }};
  };
}

/// Takes batches to the end and compares each with the epochs' orders; returns their number, -1 at a difference.
inline int64_t followed(Batches& batches, const LoaderOptions& options, std::string& problem) {
  int64_t delivered = 0;
  for (int64_t epoch = options.first_epoch; epoch < options.first_epoch + options.epochs; ++epoch) {
    const std::vector<int64_t> order = options.order(epoch);
    const auto items = int64_t(order.size());
    const int64_t count = options.drop_last ? items / options.batch : (items + options.batch - 1) / options.batch;
    for (int64_t number = 0; number < count; ++number, ++delivered) {
      auto next = batches.next();
      if (!next) return problem = toString(next.takeError()), -1;
      if (!*next) return problem = "ended early", -1;
      const HostBatch& batch = **next;
      const int64_t wanted = std::min(options.batch, items - number * options.batch);
      if (batch.epoch != epoch || batch.number != number || batch.count != wanted ||
          batch.last != (number + 1 == count))
        return problem = "batch " + std::to_string(number) + " is not the one in turn", -1;
      if (reinterpret_cast<uintptr_t>(batch.images) % 64 != 0) return problem = "memory is not aligned", -1;
      for (int64_t i = 0; i < batch.count; ++i) {
        const int64_t index = order[size_t(number * options.batch + i)];
        if (numberAt(batch, i) != index || batch.labels[i] != index)
          return problem = "wrong item " + std::to_string(i) + " of batch " + std::to_string(number), -1;
      }
    }
  }
  for (int i = 0; i < 2; ++i) {
    auto after = batches.next();
    if (!after) return problem = toString(after.takeError()), -1;
    if (*after) return problem = "a batch after the end", -1;
  }
  return delivered;
}

inline std::string errorOf(Batches& batches) {
  auto batch = batches.next();
  return batch ? std::string() : toString(batch.takeError());
}

}  // namespace expc::data::fakes
