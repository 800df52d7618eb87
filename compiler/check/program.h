#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "compiler/check/model.h"
#include "compiler/check/names.h"
#include "compiler/check/scope.h"
#include "compiler/load/load.h"
#include "compiler/source/source.h"

namespace expc::check {

/// A checked file with everything it imports. Errors were reported; what could not be resolved is left out, and a study
/// with an error inside is marked (`Study::valid`), so that later phases can go on with the others.
struct Program {
  source::SourceManager* sources = nullptr;
  load::Modules modules;
  Lookup lookup;                                     // what estimates ask of other files; may be empty
  std::vector<std::unique_ptr<ModuleScope>> scopes;  // one for each module, in their order
  std::vector<std::unique_ptr<EnumType>> enums;
  std::vector<std::unique_ptr<Workload>> workloads;
  std::vector<std::unique_ptr<System>> systems;  // of all files; of the root first, then imported, then std.systems
  std::vector<std::unique_ptr<Study>> studies;   // of the root file, in order
  Names names;                                   // of all files

  const Study* findStudy(std::string_view name) const;
  /// The machine called `name` ("box", "systems.proxima"), or null.
  const System* findSystem(std::string_view name) const;
};

/// The names of the file that was asked for; those it imports have scopes of their own.
ModuleScope& rootScope(const Program& program);

/// Whether the root file declares something to import, so that it needs no study.
bool declaresAnything(const Program& program);

}  // namespace expc::check
