#include <algorithm>

#include "compiler/diag/diagnostic.h"

namespace expc::diag {

/// An invalid file id is the largest number; adding one puts those without a place first.
static auto placeOf(const Diagnostic& diagnostic) {
  return std::tuple(diagnostic.range.file.index + 1, diagnostic.range.begin, diagnostic.range.end);
}

bool Collector::tells(const Diagnostic& diagnostic) const {
  const bool room = diagnostics.size() < kMostTold || (diagnostic.severity == Severity::Error && !failed_);
  return room && !told_.contains(std::tuple_cat(placeOf(diagnostic), std::tie(diagnostic.kind, diagnostic.message)));
}

void Collector::add(Diagnostic diagnostic) {
  if (!told_.insert(std::tuple_cat(placeOf(diagnostic), std::tie(diagnostic.kind, diagnostic.message))).second) return;
  failed_ = failed_ || diagnostic.severity == Severity::Error;
  diagnostics.push_back(std::move(diagnostic));
}

void sortByPlace(std::vector<Diagnostic>& diagnostics) { std::ranges::stable_sort(diagnostics, {}, placeOf); }

}  // namespace expc::diag
