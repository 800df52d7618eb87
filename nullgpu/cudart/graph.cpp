// Captures and graphs.

#include "nullgpu/core/graph.h"

#include <algorithm>

#include "nullgpu/core/capture.h"
#include "nullgpu/cudart/call.h"

using namespace nullgpu;

extern "C" {

NULLGPU_CALL(cudaStreamBeginCapture, (cudaStream_t stream, cudaStreamCaptureMode mode), beginCapture(stream, mode))
NULLGPU_CALL(cudaStreamEndCapture, (cudaStream_t stream, cudaGraph_t* graph), endCapture(stream, graph))
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return call("cudaStreamIsCapturing", [&] {
    CaptureInfo info;
    const cudaError_t error = captureInfo(stream, info);
    if (status) *status = info.status;
    return error;
  });
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                     cudaGraph_t* graph, const cudaGraphNode_t** dependencies,
                                     const cudaGraphEdgeData** edges, size_t* count) {
  return call("cudaStreamGetCaptureInfo", [&] {
    CaptureInfo info;
    const cudaError_t error = captureInfo(stream, info);
    if (status) *status = info.status;
    if (id) *id = info.id;
    if (graph) *graph = info.graph;
    if (dependencies) *dependencies = info.dependencies;
    if (edges) *edges = nullptr;
    if (count) *count = info.count;
    return error;
  });
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return call("cudaThreadExchangeStreamCaptureMode", [&] {
    if (mode) exchangeCaptureMode(*mode);
    return mode ? cudaSuccess : cudaErrorInvalidValue;
  });
}

NULLGPU_CALL(cudaGraphInstantiateWithFlags, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
             instantiate(graph, executable))
NULLGPU_CALL(cudaGraphInstantiate, (cudaGraphExec_t * executable, cudaGraph_t graph, unsigned long long),
             instantiate(graph, executable))
NULLGPU_CALL(cudaGraphLaunch, (cudaGraphExec_t executable, cudaStream_t stream), launchGraph(executable, stream))
NULLGPU_CALL(cudaGraphExecDestroy, (cudaGraphExec_t executable), destroyExecutable(executable))
NULLGPU_CALL(cudaGraphDestroy, (cudaGraph_t graph), destroyGraph(graph))
NULLGPU_CALL(cudaGraphGetNodes, (cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count),
             nodesOf(graph, nodes, count))
cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes, cudaGraphEdgeData* edges,
                                         size_t* count) {
  return call("cudaGraphNodeGetDependencies", [&] {
    const size_t room = count ? *count : 0;
    if (edges) std::fill_n(edges, room, cudaGraphEdgeData{});
    return dependenciesOf(node, nodes, count);
  });
}
NULLGPU_CALL(cudaGraphDebugDotPrint, (cudaGraph_t graph, const char* path, unsigned), drawGraph(graph, path))

}  // extern "C"
