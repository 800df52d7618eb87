#include "runtime/data/dataset/problems.h"

#include <algorithm>

namespace expc::dataset {

const char* toString(Severity severity) {
  static constexpr const char* kNames[] = {"error", "warning", "note"};
  return kNames[size_t(severity)];
}

void sortWorstFirst(std::vector<Problem>& problems) { std::ranges::stable_sort(problems, {}, &Problem::severity); }

}  // namespace expc::dataset
