#pragma once

// Streams whose operations go into a graph instead of being done, what is forbidden meanwhile, and these graphs.

#include <driver_types.h>

#include <memory>
#include <thread>
#include <vector>

#include "nullgpu/core/queues.h"

namespace nullgpu {

struct Node {
  std::shared_ptr<Operation> operation;
  unsigned card = 0;
  std::vector<Node*> after;
  std::vector<size_t> before;  // the places in their graph of those that come after this one
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // each behind those it comes after
  bool whole = false;                        // its capture has ended
};

struct Capture {
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  cudaGraph_t handle = nullptr;
  std::vector<std::shared_ptr<Stream>> streams;  // the first began it
  bool invalid = false;
};

cudaError_t beginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t endCapture(cudaStream_t stream, cudaGraph_t* graph);

/// The mode of this thread becomes `mode`, which becomes what it was before.
cudaError_t exchangeCaptureMode(cudaStreamCaptureMode& mode);

/// For calls such as cudaMalloc, which a capture in this or another thread may forbid: that capture is invalid then.
cudaError_t refuseUnsafeCall();
/// `body`'s answer where nothing forbids it.
cudaError_t safely(auto body) {
  const cudaError_t error = refuseUnsafeCall();
  return error ? error : body();
}

// With the queues' lock held:

extern Handles<cudaGraph_t, Graph> graphs;

cudaError_t refuseUnsafe();
/// Puts an operation into the graph of the capture that the stream is in.
cudaError_t capture(Stream& stream, std::shared_ptr<Operation> operation);
/// Why nothing more can be captured in the stream; cudaSuccess where it can.
cudaError_t captureError(const Stream& stream);
/// The stream takes part in a capture from here on, or depends on more of it.
cudaError_t joinCapture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
                        const std::vector<Node*>& tips);
/// The capture cannot be ended with a graph any more. @returns `error`.
cudaError_t invalidate(Capture& capture, cudaError_t error);
/// The capture whose order with the legacy default stream cannot be kept; null for every other stream.
Capture* implicitlyOrdered(const Stream& stream);
/// For what is queued to such a stream.
cudaError_t refuseImplicit(const Stream& stream);
/// For who asks, or waits, for what a stream has done.
cudaError_t refuseWaiting(const Stream& stream);
/// A stream of the capture is destroyed.
void abandonCapture(Stream& stream);

}  // namespace nullgpu
