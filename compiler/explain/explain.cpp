#include "compiler/explain/explain.h"

#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <vector>

#include "compiler/diag/closest.h"
#include "compiler/explain/pages.h"

namespace expc::explain {

std::string_view page(diag::Kind kind) {
  const std::optional<std::string_view> text = pageText(diag::code(kind));
  return text ? *text : std::string_view();
}

std::string summary(diag::Kind kind) {
  // "# TITLE", an empty line, the sentence, an empty line.
  std::string_view text = page(kind);
  const size_t title = text.find("\n\n");
  if (title == std::string_view::npos) return "";
  text.remove_prefix(title + 2);
  std::string sentence(text.substr(0, text.find("\n\n")));
  std::replace(sentence.begin(), sentence.end(), '\n', ' ');
  return sentence;
}

std::optional<diag::Kind> find(std::string_view text) {
  const llvm::StringRef wanted(text.data(), text.size());
  for (diag::Kind kind : diag::allKinds())
    for (std::string_view name : {diag::code(kind), diag::slug(kind)})
      if (wanted.equals_insensitive(llvm::StringRef(name.data(), name.size()))) return kind;
  return std::nullopt;
}

std::optional<std::string> nearest(std::string_view text) {
  std::vector<std::string> names;
  for (diag::Kind kind : diag::allKinds()) names.emplace_back(diag::code(kind));
  for (diag::Kind kind : diag::allKinds()) names.emplace_back(diag::slug(kind));
  return diag::closest(text, names);
}

}  // namespace expc::explain
