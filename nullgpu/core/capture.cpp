// The rules of CUDA's stream capture (CUDA C++ Programming Guide, "Creating a Graph Using Stream
// Capture"; the runtime's reference of cudaThreadExchangeStreamCaptureMode). Everything here
// happens under the queues' lock: a capture is spread over streams that several threads use.

#include "nullgpu/core/capture.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "nullgpu/core/configuration.h"

namespace nullgpu {
namespace {

/// The calling thread's own mode. It limits which captures can forbid this thread's calls.
thread_local cudaStreamCaptureMode own_mode = cudaStreamCaptureModeGlobal;

// The captures that have begun and not ended. Never destroyed: a program may use streams in its own
// static destructors.
auto& ongoing = *new std::vector<std::shared_ptr<Capture>>;

/// Whether the capture forbids this thread an unsafe call: the table in the reference of
/// cudaThreadExchangeStreamCaptureMode, by the thread's mode and the capture's.
bool forbids(const Capture& capture) {
  if (own_mode == cudaStreamCaptureModeRelaxed) return false;
  if (capture.thread == std::this_thread::get_id()) return capture.mode != cudaStreamCaptureModeRelaxed;
  return own_mode == cudaStreamCaptureModeGlobal && capture.mode == cudaStreamCaptureModeGlobal;
}

/// Releases all streams of the capture. The graph lives on in whoever holds it.
void end(const std::shared_ptr<Capture>& capture) {
  for (const auto& stream : capture->streams) {
    stream->capture.reset();
    stream->tips.clear();
  }
  capture->streams.clear();
  std::erase(ongoing, capture);
}

/// Joins two sets of dependencies; they are few, so a linear search is enough.
void addTips(std::vector<Node*>& to, const std::vector<Node*>& more) {
  for (Node* tip : more)
    if (std::ranges::find(to, tip) == to.end()) to.push_back(tip);
}

/// Whether the stream that began the capture depends, directly or not, on every last node of the
/// others. Work that it does not depend on would run unordered after each launch, so CUDA refuses
/// such a graph.
bool isJoined(const Capture& capture) {
  // Collect everything that the first stream's last nodes depend on, then look for the other
  // streams'.
  std::unordered_set<const Node*> known;
  std::vector<const Node*> left(capture.streams.front()->tips.begin(), capture.streams.front()->tips.end());
  while (!left.empty()) {
    const Node* node = left.back();
    left.pop_back();
    if (known.insert(node).second) left.insert(left.end(), node->after.begin(), node->after.end());
  }
  return std::ranges::all_of(capture.streams, [&](const auto& stream) {
    return std::ranges::all_of(stream->tips, [&](const Node* tip) { return known.contains(tip); });
  });
}

}  // namespace

Handles<cudaGraph_t, Graph> graphs;

cudaError_t beginCapture(cudaStream_t handle, cudaStreamCaptureMode mode) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  if (stream->kind == Stream::Kind::Legacy) return cudaErrorStreamCaptureUnsupported;
  if (stream->capture) return cudaErrorIllegalState;
  if (configuration().faults.graphs) return cudaErrorNotSupported;
  static unsigned long long ids = 0;
  auto capture = std::make_shared<Capture>();
  capture->id = ++ids;
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->streams = {stream};
  stream->capture = capture;
  ongoing.push_back(capture);
  return cudaSuccess;
}

cudaError_t endCapture(cudaStream_t handle, cudaGraph_t* graph) {
  if (!graph) return cudaErrorInvalidValue;
  *graph = nullptr;
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  if (!stream) return cudaErrorInvalidResourceHandle;
  const auto capture = stream->capture;
  if (!capture) return cudaErrorIllegalState;
  // CUDA's order of checks: a wrong stream or thread leaves the capture running, so that the right
  // one can still end it. The other errors end it.
  if (capture->streams.front() != stream) return cudaErrorStreamCaptureUnmatched;
  if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != std::this_thread::get_id())
    return cudaErrorStreamCaptureWrongThread;
  const cudaError_t error = capture->invalid      ? cudaErrorStreamCaptureInvalidated
                            : !isJoined(*capture) ? cudaErrorStreamCaptureUnjoined
                                                  : cudaSuccess;
  end(capture);
  if (error) {
    graphs.remove(capture->handle);
  } else {
    capture->graph->whole = true;
    *graph = capture->handle ? capture->handle : graphs.add(capture->graph);
  }
  return error;
}

cudaError_t exchangeCaptureMode(cudaStreamCaptureMode& mode) { return std::swap(own_mode, mode), cudaSuccess; }

cudaError_t refuseUnsafeCall() {
  const std::lock_guard lock(queues().mutex);
  return refuseUnsafe();
}

cudaError_t refuseUnsafe() {
  cudaError_t result = cudaSuccess;
  // Go through all captures: one call can make several invalid.
  for (const auto& capture : ongoing)
    if (forbids(*capture)) result = invalidate(*capture, cudaErrorStreamCaptureUnsupported);
  return result;
}

cudaError_t capture(Stream& stream, std::shared_ptr<Operation> operation) {
  if (const cudaError_t error = captureError(stream)) return error;
  // The fault on demand counts captured operations over all streams, starting at 1.
  static uint64_t captured = 0;
  if (++captured == configuration().faults.capture)
    return invalidate(*stream.capture, cudaErrorStreamCaptureUnsupported);
  auto& nodes = stream.capture->graph->nodes;
  // The new node follows the stream's last nodes, takes its place as the only one, and is entered
  // with each of them as a successor: a launch counts dependencies down from there.
  for (Node* tip : stream.tips) tip->before.push_back(nodes.size());
  nodes.push_back(std::make_unique<Node>(Node{std::move(operation), stream.card, stream.tips, {}}));
  stream.tips = {nodes.back().get()};
  return cudaSuccess;
}

cudaError_t captureError(const Stream& stream) {
  return stream.capture->invalid ? cudaErrorStreamCaptureInvalidated : cudaSuccess;
}

cudaError_t joinCapture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
                        const std::vector<Node*>& tips) {
  // The capture has ended since the event was recorded in it.
  if (!capture || capture->streams.empty()) return cudaErrorInvalidValue;
  // Two captures can never become one; CUDA invalidates both.
  if (stream->capture && stream->capture != capture) {
    invalidate(*stream->capture, cudaErrorStreamCaptureMerge);
    return invalidate(*capture, cudaErrorStreamCaptureMerge);
  }
  if (stream->kind == Stream::Kind::Legacy) return invalidate(*capture, cudaErrorStreamCaptureImplicit);
  if (capture->invalid) return cudaErrorStreamCaptureInvalidated;
  if (!stream->capture) {
    stream->capture = capture;
    capture->streams.push_back(stream);
  }
  addTips(stream->tips, tips);
  return cudaSuccess;
}

cudaError_t invalidate(Capture& capture, cudaError_t error) {
  capture.invalid = true;
  return error;
}

Capture* implicitlyOrdered(const Stream& stream) {
  if (stream.kind != Stream::Kind::Legacy) return nullptr;
  for (const auto& capture : ongoing)
    for (const auto& captured : capture->streams)
      if (captured->kind == Stream::Kind::Blocking && captured->card == stream.card) return capture.get();
  return nullptr;
}

cudaError_t refuseImplicit(const Stream& stream) {
  Capture* capture = implicitlyOrdered(stream);
  return capture ? invalidate(*capture, cudaErrorStreamCaptureImplicit) : cudaSuccess;
}

cudaError_t refuseWaiting(const Stream& stream) {
  if (stream.capture) return invalidate(*stream.capture, cudaErrorStreamCaptureUnsupported);
  return refuseImplicit(stream);
}

void abandonCapture(Stream& stream) {
  const auto capture = stream.capture;
  capture->invalid = true;
  // Only the stream that began the capture can end it.
  if (capture->streams.front().get() == &stream) {
    end(capture);
    return;
  }
  std::erase_if(capture->streams, [&](const auto& each) { return each.get() == &stream; });
  stream.capture.reset();
}

}  // namespace nullgpu
