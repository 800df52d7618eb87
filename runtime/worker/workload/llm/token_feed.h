#pragma once

// From a batch of tokens to tensors on the rank's device.

#include <ATen/core/Tensor.h>

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/worker/device/device.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/text/batches.h"

namespace expc::workload::llm {

/// What a pass of the decoder takes.
struct TokenPass {
  llama::Sequences input;
  llama::Labelled labelled;
};

class TokenFeed {
 public:
  /// `pinned`: what crosses lies in page-locked memory, where there is a device that reads it. The device must live
  /// longer.
  TokenFeed(device::Device& device, bool pinned);
  /// Waits for copies that are under way.
  ~TokenFeed();
  TokenFeed(const TokenFeed&) = delete;
  TokenFeed& operator=(const TokenFeed&) = delete;

  TokenPass send(text::TokenBatch batch);

 private:
  at::Tensor toDevice(at::Tensor host, std::vector<at::Tensor>& kept);
  void reclaim(bool all);

  device::Device& device_;
  std::unique_ptr<device::CopyQueue> queue_;  // null: the device's memory is the host's
  std::optional<device::HostMemory> pinned_;
  std::deque<std::pair<device::CopyQueue::Mark, std::vector<at::Tensor>>> in_flight_;  // host memory being read
};

}  // namespace expc::workload::llm
