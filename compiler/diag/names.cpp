#include "compiler/diag/names.h"

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

Refusal unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                    const Candidates& candidates, std::string_view of, std::optional<std::string>* meant) {
  auto builder = emitter.build(range, UnknownName, what, shortened(name), of);
  const auto near = builder.suggest(range, name, candidates, [&](const std::vector<std::string>& names) -> std::string {
    if (names.empty()) return fmt::format("there is no {} to choose from", what);
    return names.size() > 20 ? "" : fmt::format("there {} {}", names.size() == 1 ? "is" : "are", list(names));
  });
  if (meant) *meant = near;
  return builder.refuse();
}

Refusal duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                      source::Range first) {
  return emitter.build(range, DuplicateName, what, name).note(first, "the first one is here").refuse();
}

}  // namespace expc::diag
