#include <cassert>

#include "compiler/diag/diagnostic.h"

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

}  // namespace expc::diag
