#pragma once

#include <string>
#include <vector>

namespace expc::engine::inputs {

/// A Python module beside a script of the study that an input imports and that is not an input itself.
struct Import {
  std::string script, module;  // "b.py", and "net.py" or "net/**", below the study's folder
};

/// Looks at the import statements of those of `inputs` that are Python files. Modules are looked for in the folders of
/// `scripts`, as Python does. All names are below `root`. A module is named once, by its first import.
std::vector<Import> importsBeside(const std::string& root, const std::vector<std::string>& scripts,
                                  const std::vector<std::string>& inputs);

}  // namespace expc::engine::inputs
