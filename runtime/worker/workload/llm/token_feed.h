#pragma once

// From a batch of tokens to tensors on the rank's device.

#include <ATen/core/Tensor.h>

#include <memory>
#include <optional>
#include <vector>

#include "runtime/worker/device/device.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/text/batches.h"

namespace expc::workload::llm {

/// What a pass of the decoder takes.
struct TokenPass {
  llama::Sequences input;
  llama::Labelled labelled;
  at::Tensor beside;  // what was sent with the batch, if anything
};

class TokenFeed {
 public:
  /// `pinned`: what crosses lies in page-locked memory, where there is a device that reads it. The device must live
  /// longer.
  TokenFeed(device::Device& device, bool pinned);
  TokenFeed(const TokenFeed&) = delete;
  TokenFeed& operator=(const TokenFeed&) = delete;

  /// `beside`: a tensor of the host that the pass needs as well.
  TokenPass send(text::TokenBatch batch, const at::Tensor& beside = {});

 private:
  at::Tensor toDevice(at::Tensor host, std::vector<at::Tensor>& kept);

  device::Device& device_;
  std::unique_ptr<device::CopyQueue> queue_;  // null: the device's memory is the host's
  device::HostMemory pinned_;
  std::optional<device::InFlight> in_flight_;  // where there is a queue
};

}  // namespace expc::workload::llm
