// CUDA graphs: what a capture has recorded (core/capture.h) becomes an executable, and a launch of
// it is one operation in a stream that executes the graph's operations. Their order is drawn from
// the seed among those that the dependencies allow, so a missing dependency shows as it does
// between streams. Nodes cannot be added by hand or updated: torch only captures.

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nullgpu/core/capture.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/health.h"
#include "nullgpu/core/queues.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cudart/call.h"

namespace nullgpu {
namespace {

/// Stores an answer if the caller wants it.
template <typename Value>
void put(Value* place, std::type_identity_t<Value> value) {
  if (place) *place = value;
}

/// Tells about the capture that a stream takes part in, whatever the caller has named a place for.
/// @param dependencies nodes that the next operation would follow; valid until the stream's next
/// call
cudaError_t captureInfo(cudaStream_t handle, cudaStreamCaptureStatus* status, unsigned long long* id = nullptr,
                        cudaGraph_t* graph = nullptr, const cudaGraphNode_t** dependencies = nullptr,
                        const cudaGraphEdgeData** edges = nullptr, size_t* count = nullptr) {
  const std::lock_guard lock(queues().mutex);
  const auto stream = queues().find(handle);
  // The handle is made when the program first asks for the graph. Querying the legacy default
  // stream while a blocking stream captures is an error in CUDA.
  const bool implicit = stream && implicitlyOrdered(*stream);
  Capture* const capture = stream && !implicit ? stream->capture.get() : nullptr;
  if (capture && !capture->handle) capture->handle = graphs.add(capture->graph);
  put(status, !capture           ? cudaStreamCaptureStatusNone
              : capture->invalid ? cudaStreamCaptureStatusInvalidated
                                 : cudaStreamCaptureStatusActive);
  put(id, capture ? capture->id : 0);
  put(graph, capture ? capture->handle : nullptr);
  put(dependencies, capture ? reinterpret_cast<const cudaGraphNode_t*>(stream->tips.data()) : nullptr);
  put(edges, nullptr);
  put(count, capture ? stream->tips.size() : 0);
  return !stream ? cudaErrorInvalidResourceHandle : implicit ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}

/// An instantiated graph. Its launches follow each other in the order of their numbers.
struct Executable {
  std::shared_ptr<const Graph> graph;
  /// Number of kernels, which count against the faults on demand at each launch.
  uint64_t kernels = 0;
  /// Launches queued and launches done. The next one to run has the number `finished`.
  std::atomic<uint64_t> launched{0}, finished{0};
};

/// A launch of a graph. Launches of one graph never overlap, even in different streams, since they
/// share the operations' state.
class GraphLaunch final : public Operation {
 public:
  GraphLaunch(std::shared_ptr<Executable> executable, uint64_t number)
      // Each launch draws another order, which is the same in every run with this seed.
      : executable_(std::move(executable)), number_(number), random_(configuration().seed + number) {
    // All buffers are guarded from the call on, although operations deep in the graph read them
    // late.
    for (const auto& node : executable_->graph->nodes) {
      if (node->after.empty()) ready_.push_back(missing_.size());
      missing_.push_back(node->after.size());
      guards_.push_back(node->operation->guard());
    }
    begins_.resize(missing_.size());
  }

  bool advance() override {
    if (executable_->finished != number_) return false;
    // Count failures in a row: once all ready operations may have been tried, give the thread back.
    for (size_t held = 0; held < ready_.size();) held = tryOne() ? 0 : held + 1;
    if (!ready_.empty()) return false;
    ++executable_->finished;
    return true;
  }

 private:
  /// Tries one ready operation, drawn at random. @returns whether it is done
  bool tryOne() {
    const size_t position = random_() % ready_.size(), index = ready_[position];
    const Node& node = *executable_->graph->nodes[index];
    if (guards_[index]) guards_[index]->check();
    const Place place{node.card, currentPlace().stream, currentPlace().correlation};
    if (!perform(*node.operation, place, begins_[index])) return false;
    guards_[index].reset();
    ready_.erase(ready_.begin() + ptrdiff_t(position));
    // Successors whose last dependency this was become ready.
    for (const size_t next : node.before)
      if (--missing_[next] == 0) ready_.push_back(next);
    return true;
  }

  std::shared_ptr<Executable> executable_;
  uint64_t number_;
  std::mt19937_64 random_;
  /// For each node, the number of its dependencies that are not done.
  std::vector<size_t> missing_;
  /// Nodes that can be tried.
  std::vector<size_t> ready_;
  std::vector<std::unique_ptr<HostGuard>> guards_;
  std::vector<uint64_t> begins_;
};

Handles<cudaGraphExec_t, Executable> executables;

bool isKernel(const Node& node) {
  const Activity* activity = node.operation->activity();
  return activity && activity->work == Work::Kernel;
}

/// Copies nodes out as CUDA does: `count` is the room in `nodes` and becomes the number of nodes.
/// Room that is left over is filled with null.
cudaError_t copyOut(const std::vector<Node*>& from, cudaGraphNode_t* nodes, size_t* count) {
  if (!count) return cudaErrorInvalidValue;
  for (size_t each = 0; nodes && each < *count; ++each)
    nodes[each] = each < from.size() ? reinterpret_cast<cudaGraphNode_t>(from[each]) : nullptr;
  if (!nodes || *count > from.size()) *count = from.size();
  return cudaSuccess;
}

/// A label for the drawing of a graph.
std::string nameOf(const Node& node) {
  static constexpr const char* kNames[] = {"kernel",      "copy to the card",   "copy from the card",
                                           "copy within", "copy between cards", "set"};
  const Activity* activity = node.operation->activity();
  if (!activity) return "order";
  return isKernel(node) ? std::string(activity->name) : kNames[size_t(activity->work)];
}

template <typename Handle, typename Object>
cudaError_t destroy(Handles<Handle, Object>& all, Handle handle) {
  const std::lock_guard lock(queues().mutex);
  return all.remove(handle) ? cudaSuccess : cudaErrorInvalidValue;
}

/// Makes an executable. It shares the graph, which may be destroyed meanwhile.
cudaError_t instantiate(cudaGraph_t handle, cudaGraphExec_t* executable) {
  const std::lock_guard lock(queues().mutex);
  const auto graph = graphs.find(handle);
  if (!graph || !graph->whole || !executable) return cudaErrorInvalidValue;
  auto made = std::make_shared<Executable>();
  made->graph = graph;
  made->kernels = uint64_t(std::ranges::count_if(graph->nodes, [](const auto& node) { return isKernel(*node); }));
  *executable = executables.add(std::move(made));
  return cudaSuccess;
}

/// Queues a launch: all of the graph's operations anew, in an order that its dependencies allow.
/// @returns cudaErrorNotSupported within a capture
cudaError_t launchGraph(cudaGraphExec_t handle, cudaStream_t stream) {
  std::shared_ptr<Executable> executable;
  {
    const std::lock_guard lock(queues().mutex);
    executable = executables.find(handle);
  }
  if (!executable) return cudaErrorInvalidValue;
  if (isCaptured(stream)) return cudaErrorNotSupported;  // a graph within a graph is not implemented
  // The number is taken only if the launch is queued; otherwise a later launch would wait for it
  // for ever.
  if (const cudaError_t error = countLaunches(executable->kernels)) return error;
  auto operation = std::make_shared<GraphLaunch>(executable, executable->launched.load());
  const cudaError_t error = enqueue(stream, std::move(operation));
  if (!error) ++executable->launched;
  return error;
}

cudaError_t nodesOf(cudaGraph_t handle, cudaGraphNode_t* nodes, size_t* count) {
  const std::lock_guard lock(queues().mutex);
  const auto graph = graphs.find(handle);
  if (!graph) return cudaErrorInvalidValue;
  std::vector<Node*> all;
  for (const auto& node : graph->nodes) all.push_back(node.get());
  return copyOut(all, nodes, count);
}

/// The nodes that `node` depends on. Edges have no data here.
cudaError_t dependenciesOf(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count) {
  if (edges) std::fill_n(edges, count ? *count : 0, cudaGraphEdgeData{});
  if (!node) return cudaErrorInvalidValue;
  const std::lock_guard lock(queues().mutex);
  return copyOut(reinterpret_cast<const Node*>(node)->after, nodes, count);
}

/// Writes the graph to a file in the language of Graphviz.
cudaError_t drawGraph(cudaGraph_t handle, const char* file) {
  const std::lock_guard lock(queues().mutex);
  const auto graph = graphs.find(handle);
  std::FILE* out = graph && file ? std::fopen(file, "w") : nullptr;
  if (!out) return graph && file ? cudaErrorOperatingSystem : cudaErrorInvalidValue;
  std::fputs("digraph graph_of_the_null_gpu {\n", out);
  for (const auto& node : graph->nodes) {
    std::fprintf(out, "  \"%p\" [label=\"%s\"];\n", static_cast<const void*>(node.get()), nameOf(*node).c_str());
    for (const Node* earlier : node->after)
      std::fprintf(out, "  \"%p\" -> \"%p\";\n", static_cast<const void*>(earlier),
                   static_cast<const void*>(node.get()));
  }
  std::fputs("}\n", out);
  return std::fclose(out) == 0 ? cudaSuccess : cudaErrorOperatingSystem;
}

}  // namespace
}  // namespace nullgpu

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), beginCapture(stream, mode))
NULLGPU_CALL(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), endCapture(stream, graph))
NULLGPU_CALL(cudaStreamIsCapturing, (cudaStream_t stream, cudaStreamCaptureStatus* status), captureInfo(stream, status))
NULLGPU_CALL(cudaStreamGetCaptureInfo,
             (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph,
              const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges, size_t* count),
             captureInfo(stream, status, id, graph, dependencies, edges, count))
NULLGPU_CALL(cudaThreadExchangeStreamCaptureMode, (cudaStreamCaptureMode * mode),
             mode ? exchangeCaptureMode(*mode) : cudaErrorInvalidValue)

NULLGPU_CALL(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
             instantiate(graph, executable))
NULLGPU_CALL(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
             instantiate(graph, executable))
NULLGPU_CALL(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream), launchGraph(executable, stream))
NULLGPU_CALL(cudaGraphExecDestroy, (cudaGraphExec_t executable), destroy(executables, executable))
NULLGPU_CALL(cudaGraphDestroy, (cudaGraph_t graph), destroy(graphs, graph))
NULLGPU_CALL(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
             nodesOf(graph, nodes, count))
NULLGPU_CALL(cudaGraphNodeGetDependencies,
             (cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges, size_t* count),
             dependenciesOf(node, nodes, edges, count))
NULLGPU_CALL(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned), drawGraph(graph, path))

}  // extern "C"
