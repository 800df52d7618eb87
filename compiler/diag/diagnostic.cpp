#include "compiler/diag/diagnostic.h"

#include <algorithm>
#include <cassert>

namespace expc::diag {

namespace {

struct Entry {
  std::string_view name, code, slug;
};

constexpr Entry kEntries[] = {
#define EXPC_DIAGNOSTIC_KIND(name, code, slug) {#name, code, slug},
#include "compiler/diag/kinds.def"
};

const Entry& entry(Kind kind) {
  assert(static_cast<size_t>(kind) < std::size(kEntries));
  return kEntries[static_cast<size_t>(kind)];
}

}  // namespace

std::string_view name(Kind kind) { return entry(kind).name; }
std::string_view code(Kind kind) { return entry(kind).code; }
std::string_view slug(Kind kind) { return entry(kind).slug; }

const std::vector<Kind>& allKinds() {
  static const std::vector<Kind> kinds = {
#define EXPC_DIAGNOSTIC_KIND(name, code, slug) Kind::name,
#include "compiler/diag/kinds.def"
  };
  return kinds;
}

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
