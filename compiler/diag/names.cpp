#include "compiler/diag/names.h"

#include "compiler/diag/closest.h"
#include "compiler/diag/render.h"

namespace expc::diag {

/// A name of a megabyte helps nobody.
static std::string shortened(std::string_view name) {
  constexpr size_t kLongest = 60;
  return name.size() <= kLongest ? std::string(name) : std::string(name.substr(0, kLongest)) + "…";
}

std::string list(const std::vector<std::string>& names, std::string_view last) {
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) {
    if (i > 0) text += i + 1 == names.size() ? fmt::format(" {} ", last) : std::string(", ");
    text += names[i];
  }
  return names.size() <= kMost ? text : fmt::format("{} {} {} more", text, last, names.size() - kMost);
}

void unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                 const std::vector<std::string>& candidates, std::string_view of) {
  auto builder = emitter.build(range, UnknownName, what, shortened(name), of);
  if (emitter.errors() > kMostTold) return builder.emit();  // what is not told needs no guess
  if (auto best = closest(name, candidates)) {
    builder.guess(range, *best);
  } else if (candidates.empty()) {
    builder.note({}, "there is no {} to choose from", what);
  } else if (candidates.size() <= 20) {
    builder.note({}, "there {} {}", candidates.size() == 1 ? "is" : "are", list(candidates));
  }
  builder.emit();
}

void duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                   source::Range first) {
  emitter.build(range, DuplicateName, what, name).note(first, "the first one is here").emit();
}

}  // namespace expc::diag
