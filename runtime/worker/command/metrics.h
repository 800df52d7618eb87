#pragma once

// The metrics of a command's trial: what is measured of the process, and what is read out of its output and files.

#include <llvm/Support/Error.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/plan/command.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/command/process.h"
#include "runtime/worker/command/readers.h"

namespace expc::command {

using plan::kEnergy;
using plan::kErrors;
using plan::kOutput;

/// Metrics that need no `from`: `wall`, `cpu_time` and `host_memory_peak`, which are of the process, and `energy`,
/// which the engine's looks at the devices give.
bool isMeasured(const std::string& metric);

/// A file of a trial that ran in `folder`: of the program there, or one of its outputs.
std::string trialFile(const std::string& file, const std::string& folder);

class MetricReader {
 public:
  /// Looks at everything that can be wrong before the program runs for hours: patterns, pointers, names.
  static llvm::Expected<MetricReader> make(const plan::Command& command, const std::vector<std::string>& asked);

  /// Whether the output is as the command expects it; called before any metric is read. The error says what is not, and
  /// what stands there instead.
  /// `root` is the study's folder, where files stand that an output is compared with.
  llvm::Error verify(const std::string& folder, const std::string& root,
                     const std::function<void(const plan::CommandMetric&)>& next) const;

  /// Fills the result's metrics and series; notes where a program went on with the words of a pattern and no number.
  /// Calls `next` before it reads one out of a file. The error names the metric, the file and what is wrong.
  llvm::Error read(const std::string& folder, const ProgramEnd& end, protocol::Event& result,
                   const std::function<void(const plan::CommandMetric&)>& next) const;

 private:
  /// Adds the pattern, or checks the pointer; the error says what is wrong with either.
  llvm::Error prepare(const plan::CommandMetric& metric, Pattern::Use use);
  /// `left`: as of Pattern::read.
  llvm::Expected<Values> valuesOf(const plan::CommandMetric& metric, const std::string& folder,
                                  std::string* left = nullptr) const;
  static double valueOf(const plan::CommandMetric& metric, Values values);
  llvm::Error verifyOne(const plan::Expectation& expectation, const std::string& folder, const std::string& root) const;

  std::vector<std::string> measured_;
  std::vector<plan::CommandMetric> metrics_;
  std::vector<plan::Expectation> expectations_;
  std::map<std::string, Pattern> patterns_;  // by metric, or how an expectation is written
};

}  // namespace expc::command
