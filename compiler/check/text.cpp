#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

#include "compiler/check/expression.h"

namespace expc::check {

std::string relativeTo(std::string_view directory, std::string_view path) {
  llvm::SmallString<128> result;
  if (!llvm::sys::path::is_absolute(llvm::StringRef(path))) result = llvm::StringRef(directory);
  llvm::sys::path::append(result, llvm::StringRef(path));
  // `..` is kept where it leaves a folder that might be a link.
  llvm::sys::path::remove_dots(result, /*remove_dot_dot=*/false);
  return std::string(result.str());
}

std::string directoryOf(std::string_view path) { return llvm::sys::path::parent_path(llvm::StringRef(path)).str(); }

std::string joined(const ast::QualifiedName& name, size_t first) {
  std::string text;
  for (size_t i = first; i < name.parts.size(); ++i) text += (i > first ? "." : "") + name.parts[i].name;
  return text;
}

std::string squeeze(std::string_view text) {
  std::string result;
  bool blank = false, quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (!quoted && c == '/' && i + 1 < text.size() && text[i + 1] == '/') {
      while (i < text.size() && text[i] != '\n') ++i;
      blank = true;
      continue;
    }
    if (!quoted && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      blank = true;
      continue;
    }
    if (blank && !result.empty()) result += ' ';
    blank = false;
    result += c;
    if (quoted && c == '\\' && i + 1 < text.size()) {
      result += text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    }
  }
  return result;
}

}  // namespace expc::check
