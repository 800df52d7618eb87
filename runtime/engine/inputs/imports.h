#pragma once

// Python modules beside a study's scripts that are imported but are no inputs: a change in them would go unnoticed. The
// result is used for hints and for the kind of links, so a line scanner suffices; nothing is executed.

#include <string>
#include <vector>

namespace expc::engine::inputs {

/// A Python module beside a script of the study that an input imports and that is not an input itself.
struct Import {
  std::string script, module;  // "b.py", and "net.py" or "net/**", below the study's folder
};

/// Scans the Python files among `inputs` for imports of modules that lie beside `scripts` (where Python looks for them)
/// and are not among `inputs`. All names are relative to `root`. A module is named once, by its first import.
std::vector<Import> importsBeside(const std::string& root, const std::vector<std::string>& scripts,
                                  const std::vector<std::string>& inputs);

}  // namespace expc::engine::inputs
