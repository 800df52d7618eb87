#include "compiler/diag/closest.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>

namespace expc::diag {

std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // the distance costs the product of the lengths
  if (name.empty() || name.size() > kLongest) return std::nullopt;
  std::string lower = llvm::StringRef(name.data(), name.size()).lower();
  unsigned limit = std::max<unsigned>(1, static_cast<unsigned>(name.size() + 1) / 3);
  unsigned best = limit + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest || candidate == name) continue;
    unsigned distance = llvm::StringRef(lower).edit_distance(llvm::StringRef(candidate).lower(), true, limit + 1);
    // A word replaced letter by letter is another word: `a` for `b` is no likely slip.
    if (distance >= std::min(name.size(), candidate.size())) continue;
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

}  // namespace expc::diag
