#pragma once

// Reads and parses a study file, everything it imports, and the CSV files of its references. After this phase
// the compiler reads no file: checking works on the Modules that come out, which is why tests and the language
// server can hand in a FileSystem of their own. Imports are resolved here; names inside the files are not.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "compiler/parse/ast.h"
#include "runtime/base/llvm.h"

namespace expc::load {

/// The source of files; tests and editors hand in their own. `read` returns a file's text, or an error with the
/// reason.
struct FileSystem {
  std::function<Expected<std::string>(const std::string& path)> read;
  /// Reads from disk, at most files::kMostByHand bytes a file.
  static FileSystem real();
};

/// `path`, written in a file of folder `directory`, as a path from the root file's folder. Absolute paths stay.
/// `.` is removed; `..` is kept, since `link/..` is another folder than the one that holds the link.
std::string relativeTo(std::string_view directory, std::string_view path);

/// A path without `.` and `..`, by its text alone. Identifies a file that is imported twice.
std::string normalized(std::string_view path);

/// One parsed file with the modules that it imports.
struct Module {
  ast::Module ast;
  /// The name in the SourceManager: a path, or "<stdlib>/image.exp".
  std::string path;
  /// Path from the root file's folder to this file's folder ("" or "shared"). Paths written in this file start
  /// there.
  std::string directory;
  /// Prefix of its workloads' full names: "" for the root file, "image." for the standard module `image`.
  std::string prefix;
  bool is_stdlib = false;
  /// Imported modules by the name that the file uses. Null if the import failed, which was reported; names
  /// behind it must then not be reported again.
  std::map<std::string, const Module*, std::less<>> imports;
  /// The text of each reference's CSV file, in the order of `ast.references`; empty if it could not be read,
  /// which was reported.
  std::vector<std::optional<std::string>> references;
};

/// Everything that a study is made of.
struct Modules {
  /// Each module after those that it imports, so the root is last. A file imported twice occurs once.
  std::vector<std::unique_ptr<Module>> all;
  /// Whether no file has syntax errors. If some has, declarations may be missing, so missing names prove
  /// nothing.
  bool parsed = true;

  const Module& root() const { return *all.back(); }
};

/// The name by which a file uses an import: its alias, else the file's stem or the module's last name.
std::string boundName(const ast::Import& import);

/// Parses the file `root` (already in `sources`) and everything it imports, and reads the files of its
/// references. Reports all errors of parsing (E01xx), unknown modules (E0202), missing and unreadable files
/// (E0218, E0225) and circular imports (E0219). A module whose import failed is left out, and the rest goes on.
Modules load(source::SourceManager& sources, source::FileId root, const FileSystem& files, diag::Emitter& emitter);

}  // namespace expc::load
