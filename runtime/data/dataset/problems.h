#pragma once

// Faults of data sets, as `expc data inspect` lists them: one list, worst first.

#include <cstdint>
#include <string>
#include <vector>

namespace expc::dataset {

/// Error: a trial that reads the data fails. Warning: it runs, and its result may mislead. Note: it is as meant, but
/// worth knowing.
enum class Severity { Error, Warning, Note };
/// "error", "warning", "note".
const char* toString(Severity severity);

/// A fault, and every place that has it.
struct Problem {
  Severity severity = Severity::Warning;
  std::string text;
  /// The file whose rows have the fault; "" if images have it, or the set as a whole.
  std::string file = {};
  std::vector<int64_t> rows = {};        // counted from 1
  std::vector<std::string> images = {};  // files, or "ORIGIN: image 7"
};

/// Sorts by severity. Problems of one severity keep their order, which is that of their effect on results.
void sortWorstFirst(std::vector<Problem>& problems);

}  // namespace expc::dataset
