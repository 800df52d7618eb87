#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/load/files.h"
#include "compiler/source/source.h"

namespace expc::load {

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
