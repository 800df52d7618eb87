#include "runtime/worker/workload/llm/token_feed.h"

#include <ATen/ATen.h>

#include <cstring>
#include <new>

#include "runtime/worker/profile/range.h"

namespace expc::workload::llm {
namespace {

using profile::Phase, profile::Range;

constexpr size_t kMostInFlight = 4;

/// The vector's memory as a tensor that keeps the batch alive.
at::Tensor wrapped(const std::shared_ptr<text::TokenBatch>& batch, std::vector<int64_t>& values) {
  return at::from_blob(values.data(), {batch->rows, batch->columns}, [batch](void*) {}, at::TensorOptions(at::kLong));
}

/// Of packs: which sample of its row each token belongs to.
at::Tensor documentsOf(const text::TokenBatch& batch) {
  at::Tensor documents = at::empty({batch.rows, batch.columns}, at::TensorOptions(at::kInt));
  auto* at = documents.mutable_data_ptr<int32_t>();
  for (const std::vector<int64_t>& row : batch.lengths) {
    int32_t number = 0;
    for (const int64_t length : row) {
      std::fill_n(at, length, number++);
      at += length;
    }
  }
  return documents;
}

/// True where a token sees another: one of its own sample that is not behind it.
at::Tensor maskOf(const at::Tensor& documents) {
  const int64_t length = documents.size(1);
  const at::Tensor causal = at::ones({length, length}, documents.options().dtype(at::kBool)).tril_();
  return (documents.unsqueeze(2) == documents.unsqueeze(1)).logical_and_(causal);
}

}  // namespace

TokenFeed::TokenFeed(device::Device& device, bool pinned)
    : device_(device), queue_(device.copyQueue(/*beside=*/false)) {
  if (pinned && queue_) pinned_ = device.pinnedMemory();
}

TokenFeed::~TokenFeed() { reclaim(/*all=*/true); }

at::Tensor TokenFeed::toDevice(at::Tensor host, std::vector<at::Tensor>& kept) {
  if (!queue_) return host;
  host = host.contiguous();
  if (pinned_) {
    void* memory = pinned_->allocate(host.nbytes());
    if (!memory) throw std::bad_alloc();
    const auto release = pinned_->release;
    at::Tensor locked = at::from_blob(memory, host.sizes(), [release](void* at) { release(at); }, host.options());
    std::memcpy(memory, host.const_data_ptr(), host.nbytes());
    host = std::move(locked);
  }
  at::Tensor copy = queue_->copy(host);
  kept.push_back(std::move(host));
  return copy;
}

TokenPass TokenFeed::send(text::TokenBatch made) {
  const auto batch = std::make_shared<text::TokenBatch>(std::move(made));
  const llama::Labelled labelled = llama::labelledPositions(wrapped(batch, batch->labels));
  const bool packed = !batch->positions.empty();
  at::Tensor documents = packed ? documentsOf(*batch) : at::Tensor();
  const Range copy(queue_ ? Phase::Copy : Phase::Load);
  reclaim(/*all=*/false);
  std::vector<at::Tensor> kept;
  TokenPass pass;
  pass.input.tokens = toDevice(wrapped(batch, batch->tokens), kept);
  pass.labelled = {toDevice(labelled.positions, kept), toDevice(labelled.targets, kept), toDevice(labelled.rows, kept)};
  if (packed) {
    pass.input.positions = toDevice(wrapped(batch, batch->positions), kept);
    documents = toDevice(documents, kept);
  }
  if (queue_) {
    auto mark = queue_->mark();
    std::vector<at::Tensor> sent = {pass.input.tokens, pass.labelled.positions, pass.labelled.targets,
                                    pass.labelled.rows};
    if (packed) sent.insert(sent.end(), {pass.input.positions, documents});
    queue_->handOver(mark, sent);
    in_flight_.emplace_back(std::move(mark), std::move(kept));
  }
  if (packed) pass.input.mask = maskOf(documents);
  return pass;
}

/// Gives back host memory whose copy is done.
void TokenFeed::reclaim(bool all) {
  while (!in_flight_.empty()) {
    const auto& mark = in_flight_.front().first;
    if (all || in_flight_.size() >= kMostInFlight) queue_->wait(mark);
    if (!queue_->reached(mark)) return;
    in_flight_.pop_front();
  }
}

}  // namespace expc::workload::llm
