// A line scanner for Python's import statements. It knows the two forms at the beginning of a line and looks for
// modules beside the scripts; it understands neither strings nor continued lines, which is enough for a hint.

#include "runtime/engine/inputs/imports.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringExtras.h>

#include <filesystem>
#include <set>
#include <utility>

#include "runtime/base/files/files.h"
#include "runtime/base/llvm.h"

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMostSource = 4 << 20;

/// The top-level module name at the beginning of `text`; "" if there is none, as in `from . import a`.
StringRef moduleAt(StringRef text) {
  return text.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_'; });
}

/// The modules that a line `import a.b, c as d` or `from a.b import c` names.
llvm::SmallVector<StringRef> modulesOf(StringRef line) {
  llvm::SmallVector<StringRef> modules;
  line = line.ltrim();
  if (line.consume_front("from ")) {
    if (line.contains(" import ")) modules.push_back(moduleAt(line));
  } else if (line.consume_front("import ")) {
    for (const StringRef part : llvm::split(line.take_until([](char c) { return c == '#' || c == ';'; }), ','))
      modules.push_back(moduleAt(part));
  }
  return modules;
}

/// Whether a folder may be a package, that is, has Python files. A folder of data may have a library's name.
bool isPackage(const fs::path& folder) {
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".py") return true;
  return false;
}

}  // namespace

std::vector<Import> importsBeside(const std::string& root, const std::vector<std::string>& scripts,
                                  const std::vector<std::string>& inputs) {
  std::set<fs::path> folders;
  for (const std::string& script : scripts) folders.insert(fs::path(script).parent_path());
  std::vector<Import> found;
  std::set<std::string> told;
  const auto look = [&](const std::string& script, StringRef module) {
    for (const fs::path& folder : folders) {
      // Modules that exist in no script's folder are of the standard library or installed.
      const std::string base = (folder / module.str()).string();
      std::error_code failed;
      const bool file = fs::is_regular_file(fs::path(root) / (base + ".py"), failed);
      if (!file && !isPackage(fs::path(root) / base)) continue;
      const bool given = llvm::any_of(
          inputs, [&](StringRef input) { return file ? input == base + ".py" : input.starts_with(base + "/"); });
      std::string name = base + (file ? ".py" : "/**");
      if (!given && told.insert(name).second) found.push_back({script, std::move(name)});
      return;
    }
  };
  for (const std::string& input : inputs) {
    if (folders.empty() || !StringRef(input).ends_with(".py")) continue;
    const auto source = expectedToOptional(files::map((fs::path(root) / input).string(), kMostSource));
    if (!source) continue;  // taking the digest reports it
    // Text in a string that looks like an import costs a needless hint at most.
    for (const StringRef line : llvm::split((*source)->getBuffer(), '\n'))
      for (const StringRef module : modulesOf(line))
        if (!module.empty()) look(input, module);
  }
  return found;
}

}  // namespace expc::engine::inputs
