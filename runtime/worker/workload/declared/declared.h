#pragma once

// What a worker says that it runs: workloads, what they take, and what they measure.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/plan/trial.h"

namespace expc::workload {

/// As declared in stdlib/*.exp; a test compares the two.
struct Param {
  std::string name;
  std::string type;         // "Pixels", "int", "precision"
  llvm::json::Value value;  // default, in base units; null: none
  /// Levels with which one process drives all devices of the trial: it gets all slots, and there is no other rank.
  std::vector<std::string> one_process = {};
};

/// What it is, a time or a share, and which way is better, stdlib/*.exp alone says.
struct Metric {
  std::string name;
  plan::TrialKind kind = plan::TrialKind::Timed;
};

struct Declared {
  std::string name;  // "image.mobilenet_v2"
  int version = 1;   // raised when results would change or a default changes
  std::vector<Param> params;
  std::vector<Metric> metrics;
};

/// An entry of "workloads" in what `--describe` prints.
llvm::json::Value toJson(const Declared& workload);

}  // namespace expc::workload
