#pragma once

// Stream capture: while a stream is being captured, its operations become nodes of a graph instead
// of being done. This file keeps the captures under way, builds their graphs, and decides which
// calls CUDA forbids meanwhile. cudart/graph.cpp turns a finished graph into something to launch,
// and cudart/stream.cpp lets captures spread from stream to stream through events.
//
// An error during a capture makes it invalid: endCapture() then reports it and returns no graph.

#include <driver_types.h>

#include <memory>
#include <thread>
#include <vector>

#include "nullgpu/core/queues.h"

namespace nullgpu {

/// An operation in a graph, with its edges.
struct Node {
  std::shared_ptr<Operation> operation;
  unsigned card = 0;
  /// The nodes that must be done before this one.
  std::vector<Node*> after;
  /// The positions in `Graph::nodes` of those that wait for this one.
  std::vector<size_t> before;
};

/// A graph. It owns its nodes, whose handles (cudaGraphNode_t) are their addresses.
struct Graph {
  /// In the order of their capture, so each follows all its dependencies.
  std::vector<std::unique_ptr<Node>> nodes;
  /// The capture has ended; only a complete graph can be instantiated.
  bool whole = false;
};

/// One capture under way, shared by all streams that take part in it.
struct Capture {
  /// Unique in the process. cudaStreamGetCaptureInfo returns it.
  unsigned long long id = 0;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  /// The thread that began it.
  std::thread::id thread;
  std::shared_ptr<Graph> graph = std::make_shared<Graph>();
  /// The graph's handle if the program asked for it during the capture; endCapture() then returns
  /// the same one.
  cudaGraph_t handle = nullptr;
  /// The streams that take part. The first began the capture and must end it.
  std::vector<std::shared_ptr<Stream>> streams;
  /// An error has happened, so it can end only with cudaErrorStreamCaptureInvalidated.
  bool invalid = false;
};

/// Starts capturing `stream` (cudaStreamBeginCapture).
/// @returns cudaErrorStreamCaptureUnsupported for the legacy default stream, cudaErrorIllegalState
/// while it is being captured, cudaErrorNotSupported under the fault "graphs".
cudaError_t beginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
/// Ends the capture that `stream` began and gives its graph. The capture is over unless the stream
/// or the thread is the wrong one.
/// @returns cudaErrorStreamCaptureInvalidated after an earlier error,
/// cudaErrorStreamCaptureUnjoined if the first stream does not depend on all work that other
/// streams captured.
cudaError_t endCapture(cudaStream_t stream, cudaGraph_t* graph);

/// Exchanges this thread's capture mode with `mode` (cudaThreadExchangeStreamCaptureMode).
cudaError_t exchangeCaptureMode(cudaStreamCaptureMode& mode);

/// Checks a call such as cudaMalloc, which could synchronise. A capture in this or another thread
/// may forbid such calls; it then becomes invalid. Takes the queues' lock.
cudaError_t refuseUnsafeCall();
/// Runs `body` unless a capture forbids such a call. @returns the error of the first that fails.
cudaError_t safely(auto body) {
  const cudaError_t error = refuseUnsafeCall();
  return error ? error : body();
}

// The functions below need the queues' lock held by the caller.

/// Handles of all graphs, those under capture included.
extern Handles<cudaGraph_t, Graph> graphs;

/// refuseUnsafeCall() for callers that hold the lock.
cudaError_t refuseUnsafe();
/// Appends an operation to the graph of the stream's capture, behind the stream's last nodes. The
/// stream must be in a capture.
cudaError_t capture(Stream& stream, std::shared_ptr<Operation> operation);
/// The reason why the stream, which is in a capture, can capture nothing more; cudaSuccess if it
/// can.
cudaError_t captureError(const Stream& stream);
/// Makes the stream take part in `capture` from here on, or lets it depend on more nodes of it.
/// This is how waiting for a captured event spreads a capture.
/// @param tips the nodes that the stream's next operation must follow
/// @returns cudaErrorStreamCaptureMerge if the stream is already in another capture; both become
/// invalid.
cudaError_t joinCapture(const std::shared_ptr<Stream>& stream, const std::shared_ptr<Capture>& capture,
                        const std::vector<Node*>& tips);
/// Marks the capture as invalid. @returns `error`, for the caller to return.
cudaError_t invalidate(Capture& capture, cudaError_t error);
/// The capture, if any, that a call on this stream would silently order itself with: the stream is
/// the legacy default stream and a blocking stream of its card is being captured. Null otherwise.
Capture* implicitlyOrdered(const Stream& stream);
/// Refuses to queue an operation in such a stream, and makes that capture invalid.
cudaError_t refuseImplicit(const Stream& stream);
/// Refuses to query or wait for a stream that is being captured or is implicitly ordered with one
/// that is.
cudaError_t refuseWaiting(const Stream& stream);
/// Lets a stream that is being destroyed leave its capture, which becomes invalid. If the stream
/// began the capture, nobody can end it any more, so it is dropped.
void abandonCapture(Stream& stream);

}  // namespace nullgpu
