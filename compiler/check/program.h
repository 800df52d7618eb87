#pragma once

// A checked program: owner of everything that model.h refers to by pointer.

#include <memory>
#include <string_view>
#include <vector>

#include "compiler/check/model.h"
#include "compiler/check/names.h"
#include "compiler/check/scope.h"
#include "compiler/diag/source.h"
#include "compiler/parse/load.h"

namespace expc::check {

/// A checked file with everything that it imports. Errors were reported; what could not be resolved is left
/// out. A study with an error inside is marked (`Study::valid`), so that later phases go on with the others.
/// Movable; pointers into it stay valid when it is moved.
struct Program {
  source::SourceManager* sources = nullptr;
  load::Modules modules;
  /// Answers what estimates ask of other files; may be empty.
  Lookup lookup;
  /// Texts of `-D`, of which those that name a constant of a study are applied while it is checked.
  std::vector<std::string> overrides;
  /// Parallel to `modules.all`.
  std::vector<std::unique_ptr<ModuleScope>> scopes;
  std::vector<std::unique_ptr<EnumType>> enums;
  std::vector<std::unique_ptr<Workload>> workloads;
  /// Systems of all files: those of the root first, then of imported files.
  std::vector<std::unique_ptr<System>> systems;
  /// Declarations of studies that use parts, with the statements of these.
  std::vector<std::unique_ptr<ast::StudyDecl>> flat;
  /// Studies of the root file, in declared order.
  std::vector<std::unique_ptr<Study>> studies;
  /// Names of all files.
  Names names;

  /// The study of this name, or null.
  const Study* findStudy(std::string_view name) const;
  /// The system called `name` ("box", "systems.proxima"), or null.
  const System* findSystem(std::string_view name) const;
};

/// The scope of the file that was asked for.
ModuleScope& rootScope(const Program& program);

/// Whether the root file declares something that others may import, so that it needs no study.
bool declaresAnything(const Program& program);

}  // namespace expc::check
