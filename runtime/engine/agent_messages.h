#pragma once

// What an engine and the agents of its nodes say to each other (lines.h).
//
// An agent begins, with what its machine is (`here`). Then the engine asks, one thing at a time: what the workers are
// (`describe`), to copy data (`copy`), and to begin (`begin`, once the run has its results folder); from then on it
// sends `start` and `kill`, and the agent sends `reports`. The agent ends with its standard input, and all that it runs
// with it.

#include <string>
#include <vector>

#include "runtime/engine/local_launcher.h"
#include "runtime/engine/scratch.h"
#include "runtime/machine/machine.h"
#include "runtime/plan/json_record.h"

namespace expc::engine {

struct Introduction {
  std::string name;       // of the node
  std::string address;    // by which other nodes reach it
  std::string interface;  // that has this address; "": not known
  machine::Machine machine;
};
void describe(plan::JsonRecord& io, Introduction& node);

struct CopyTask {
  std::vector<ScratchCopy> copies;
};
void describe(plan::JsonRecord& io, CopyTask& task);

/// What an agent needs for its launcher.
struct AgentTask {
  LocalWorkers workers;  // with any NVML, where the node is to use its own
  unsigned lanes = 1;
  std::string devices;  // as `--devices`: what a lease is taken on
  std::string locks;    // folder of leases on the node; "": none are taken
  std::string owner;    // what others are told of the leases
};

void describe(plan::JsonRecord& io, AgentTask& task);

/// A trial's ranks on one node; without what only the engine needs.
void describe(plan::JsonRecord& io, TrialRequest& request);

void describe(plan::JsonRecord& io, RankReport& report);

}  // namespace expc::engine
