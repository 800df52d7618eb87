#pragma once

#include <llvm/Support/Error.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::load {

/// Where files are read from; tests hand in a fake. `read` gives the text of a file, or an error that says why not.
struct FileSystem {
  std::function<llvm::Expected<std::string>(const std::string& path)> read;
  /// The real one.
  static FileSystem real();
};

/// A file's path for use from the root file's folder: `directory`/`path` without dots; absolute paths stay.
std::string relativeTo(std::string_view directory, std::string_view path);

/// A path without `.` and `..`.
std::string normalized(std::string_view path);

/// A file of the language with what it imports.
struct Module {
  ast::Module ast;
  std::string path;       // as the SourceManager has it; "<stdlib>/image.exp"
  std::string directory;  // from the root file's folder to this file's: "" or "shared"; paths in it start there
  std::string prefix;     // of its workloads' names: "" for the root file, "image."
  bool is_stdlib = false;
  std::map<std::string, const Module*, std::less<>> imports;  // null where one failed
  /// The text behind each of `ast.references`; nothing where it could not be read, which was reported.
  std::vector<std::optional<std::string>> references;
};

/// Everything that a study is made of: after this phase nothing is read any more.
struct Modules {
  std::vector<std::unique_ptr<Module>> all;  // imported ones before their importers, so the root is last
  /// Whether no file has syntax errors: behind one stand declarations that the parser dropped.
  bool parsed = true;

  const Module& root() const { return *all.back(); }
};

/// The name that an import gives to what it imports.
std::string boundName(const ast::Import& import);

/// Parses the file `root` (already in `sources`) and all it imports, and reads the files of its references. Reports
/// everything of parse, and names that are no file or module.
Modules load(source::SourceManager& sources, source::FileId root, const FileSystem& files, diag::Emitter& emitter);

}  // namespace expc::load
