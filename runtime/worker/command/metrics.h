#pragma once

// The metrics of a command's trial: the measurements of its process, and the values read out of its
// output and files. A MetricReader is made once per trial, before the program runs, and used after
// it has ended.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/plan/command.h"
#include "runtime/protocol/trial.h"
#include "runtime/worker/command/process.h"
#include "runtime/worker/command/readers.h"
#include "runtime/worker/command/rows.h"

namespace expc::command {

using plan::kEnergy;
using plan::kErrors;
using plan::kOutput;

/// The path of a file of a trial that ran in `folder`: a file of the program, or one of the
/// captured streams.
std::string trialFile(const std::string& file, const std::string& folder);

/// Reads the metrics of a trial and checks its expectations.
class MetricReader {
 public:
  /// Checks everything that could be wrong before the program runs for hours: patterns, pointers
  /// and names.
  /// @param asked the metrics that the study wants
  static Expected<MetricReader> make(const plan::Command& command, const std::vector<std::string>& asked);

  /// Checks that the output is as the command expects; called before any metric is read. The error
  /// says what is not as expected, and what was found instead.
  /// @param root the study's folder, with the files that outputs are compared with
  /// @param next called before each expectation is looked at
  Error verify(const std::string& folder, const std::string& root,
               const std::function<void(const plan::CommandMetric&)>& next) const;

  /// Fills the result's metrics and series; an optional metric of which the output has no value is null. Adds a note if
  /// the program went on with the words of a pattern but no number behind the last value. The error names the metric,
  /// the file and what is wrong.
  /// @param next called before each metric that is read from a file
  Error read(const std::string& folder, const ProgramEnd& end, protocol::Event& result,
             const std::function<void(const plan::CommandMetric&)>& next) const;

 private:
  /// Compiles the pattern, or checks the pointer, of one metric.
  Error prepare(const plan::CommandMetric& metric, Pattern::Use use);
  /// The values of a metric that is a column of a table.
  Expected<Values> columnOf(const plan::CommandMetric& metric, StringRef text) const;
  /// The values of one metric, in order. @param left as for Pattern::read
  Expected<Values> valuesOf(const plan::CommandMetric& metric, const std::string& folder,
                            std::string* left = nullptr) const;
  /// The one value of a metric or an expectation, in its unit.
  /// @param series becomes the values of a series, as the program wrote them
  /// @param notes gets a note of what a reader of the value must know
  Expected<double> valueOf(const plan::CommandMetric& metric, const std::string& folder, Values* series = nullptr,
                           std::vector<plan::Note>* notes = nullptr) const;
  /// Fills the rows of a process that goes through levels by itself.
  Error readRows(const std::string& folder, protocol::Event& result,
                 const std::function<void(const plan::CommandMetric&)>& next) const;
  Error verifyOne(const plan::Expectation& expectation, const std::string& folder, const std::string& root) const;

  std::vector<std::string> measured_;
  std::vector<plan::CommandMetric> metrics_;
  std::vector<plan::CommandMetric> keys_;  // plan::Command::inside
  RowReader rows_;
  std::vector<plan::Expectation> expectations_;
  /// Keys are the metric's name, or the text of an expectation.
  std::map<std::string, Pattern> patterns_;
};

}  // namespace expc::command
