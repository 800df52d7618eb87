// Sends batches of tokens to the rank's device. Copies are queued, not waited for, so their sources must live until
// they are done: the feed keeps them in flight and releases them as marks of the device pass.

#include <ATen/ATen.h>
#include <llvm/ADT/STLExtras.h>

#include <cstring>
#include <new>

#include "runtime/worker/profile/range.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

using profile::Phase, profile::Range;

/// Passes whose copies may still be under way, about ten KiB each. A GPU's queue of launches is full long before the
/// host is so far ahead, so in practice nobody waits for a copy.
constexpr size_t kMostInFlight = 32;

/// A vector's memory as a tensor [rows, columns] that keeps the batch alive; undefined for an empty vector.
template <typename Value>
at::Tensor wrapped(const std::shared_ptr<text::TokenBatch>& batch, std::vector<Value>& values) {
  if (values.empty()) return {};
  return at::from_blob(
      values.data(), {batch->rows, batch->columns}, [batch](void*) {},
      at::TensorOptions(c10::CppTypeToScalarType<Value>::value));
}

/// The lengths of all samples of packs, row after row.
std::vector<int64_t> lengthsOf(const text::TokenBatch& batch) {
  std::vector<int64_t> lengths;
  for (const std::vector<int64_t>& row : batch.lengths) llvm::append_range(lengths, row);
  return lengths;
}

}  // namespace

TokenFeed::TokenFeed(device::Device& device, bool pinned)
    : device_(device), queue_(device.copyQueue(/*beside=*/false)) {
  if (!queue_) return;
  in_flight_.emplace(*queue_);
  if (pinned) pinned_ = device.pinnedMemory();
}

/// A tensor's copy on the device. Without a queue the device's memory is the host's, so the tensor is returned as it
/// is. `kept` receives what must live until the copy is done.
at::Tensor TokenFeed::toDevice(at::Tensor host, std::vector<at::Tensor>& kept) {
  if (!queue_ || !host.defined()) return host;
  host = host.contiguous();
  // Page-locked memory lets the copy run beside the host; ordinary memory would be staged by the driver.
  if (pinned_) {
    const std::shared_ptr<void> memory = pinned_(host.nbytes());
    if (!memory) throw std::bad_alloc();
    at::Tensor locked = at::from_blob(memory.get(), host.sizes(), [memory](void*) {}, host.options());
    std::memcpy(memory.get(), host.const_data_ptr(), host.nbytes());
    host = std::move(locked);
  }
  at::Tensor copy = queue_->copy(host);
  kept.push_back(std::move(host));
  return copy;
}

TokenPass TokenFeed::send(text::TokenBatch made, const at::Tensor& beside) {
  const auto batch = std::make_shared<text::TokenBatch>(std::move(made));
  const llama::Labelled labelled =
      llama::labelledPositions(wrapped(batch, batch->labels), wrapped(batch, batch->weights));
  const bool packed = !batch->positions.empty();
  const Range copy(queue_ ? Phase::Copy : Phase::Load);
  if (in_flight_) in_flight_->reclaim(kMostInFlight - 1);
  std::vector<at::Tensor> kept;
  TokenPass pass;
  pass.input.tokens = toDevice(wrapped(batch, batch->tokens), kept);
  pass.labelled = {toDevice(labelled.positions, kept), toDevice(labelled.targets, kept), toDevice(labelled.rows, kept),
                   toDevice(labelled.weights, kept)};
  if (!batch->row_weights.empty()) pass.row_weights = toDevice(at::tensor(batch->row_weights), kept);
  if (packed) {
    pass.input.positions = toDevice(wrapped(batch, batch->positions), kept);
    pass.input.documents.lengths = lengthsOf(*batch);
    pass.input.documents.bounds = toDevice(llama::Documents::boundsOf(pass.input.documents.lengths), kept);
  }
  pass.beside = toDevice(beside, kept);
  // The mark makes the training's stream wait for the copies, and tells when their sources are free.
  if (queue_) {
    auto mark = queue_->mark();
    std::vector<at::Tensor> sent = {pass.input.tokens, pass.labelled.positions, pass.labelled.targets,
                                    pass.labelled.rows};
    for (const at::Tensor& one :
         {pass.beside, pass.labelled.weights, pass.row_weights, pass.input.positions, pass.input.documents.bounds})
      if (one.defined()) sent.push_back(one);
    queue_->handOver(mark, sent);
    in_flight_->add(std::move(mark), std::make_shared<std::vector<at::Tensor>>(std::move(kept)));
  }
  return pass;
}

}  // namespace expc::workload::llm
