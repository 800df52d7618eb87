#pragma once

// Graphs: operations that a capture has taken, and their launches.

#include <driver_types.h>

#include <memory>
#include <vector>

#include "nullgpu/core/stream.h"

namespace nullgpu {

struct Node {
  std::shared_ptr<Operation> operation;
  unsigned card = 0;
  std::vector<Node*> after;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // each behind those it comes after
};

/// Under the queues' lock: the handle of a graph. False: it stands for none.
cudaGraph_t addGraph(std::shared_ptr<Graph> graph);
bool removeGraph(cudaGraph_t handle);

cudaError_t destroyGraph(cudaGraph_t graph);
cudaError_t instantiate(cudaGraph_t graph, cudaGraphExec_t* executable);
cudaError_t destroyExecutable(cudaGraphExec_t executable);
/// Queues all of a graph's operations anew, in an order that its dependencies allow.
cudaError_t launchGraph(cudaGraphExec_t executable, cudaStream_t stream);

/// As CUDA's functions of these names: `count` is the room in `nodes` and becomes the number of nodes.
cudaError_t nodesOf(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count);
cudaError_t dependenciesOf(cudaGraphNode_t node, cudaGraphNode_t* nodes, size_t* count);
/// The graph in the language of Graphviz.
cudaError_t drawGraph(cudaGraph_t graph, const char* file);

}  // namespace nullgpu
