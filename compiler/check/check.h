#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ast/ast.h"
#include "compiler/check/model.h"
#include "compiler/check/names.h"
#include "compiler/diag/diagnostic.h"
#include "compiler/load/load.h"
#include "compiler/source/source.h"

namespace expc::check {

struct ModuleScope;  // names of one file; internal to check

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

  Program();
  Program(Program&&) noexcept;
  Program& operator=(Program&&) noexcept;
  ~Program();

  const Study* findStudy(std::string_view name) const;
  /// The machine called `name` ("box", "systems.proxima"), or null.
  const System* findSystem(std::string_view name) const;
};

/// Checks a file and all it imports; of one with syntax errors only its names. Reports E02xx, E03xx.
/// Reads no file and never looks at the machine: `lookup` answers what estimates ask of files when a study is expanded
/// (an empty one: they have no value there). Always returns; whether it succeeded is `emitter.errors()`.
Program check(source::SourceManager& sources, load::Modules modules, diag::Emitter& emitter, Lookup lookup = {});

/// Whether the root file declares something to import, so that it needs no study.
bool declaresAnything(const Program& program);

/// Resolves one `-D` text ("gpus=2", "precision={fp32,bf16}", "size=64px", "design.timed.repeat=20") against a study:
/// by the declared type, a factor's value selects levels. Nothing after reporting (E0601 for a malformed one, else
/// E02xx, E03xx).
std::optional<Change> resolveOverride(const Program& program, const Study& study, const std::string& text,
                                      diag::Emitter& emitter);

/// A condition over the study's parameters, as in `--where 'gpus > 1'`; null after reporting. `option` is what it was
/// given to.
FormulaPtr resolveCondition(const Program& program, const Study& study, const std::string& option,
                            const std::string& text, diag::Emitter& emitter);

/// "precision=fp32 gpus=2" (or with commas) as levels by factor, nothing where a factor is not named; nothing at all
/// after reporting.
std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const Program& program, const Study& study,
                                                                 const std::string& text, diag::Emitter& emitter);

/// A study after presets and overrides, in this order: default < study < presets < overrides.
struct Selected {
  const Study* study = nullptr;
  /// By use and parameter (Use::arguments), and what gave the value: "" for the study itself or a default, else the
  /// preset's name or the -D text.
  std::vector<std::vector<std::optional<Value>>> arguments;
  std::vector<std::string> given_by;          // by parameter
  std::vector<source::Range> given_at;        // by parameter, where given_by says something
  std::vector<std::vector<unsigned>> levels;  // kept levels of each factor, in declared order
  std::vector<const Criterion*> criteria;     // the study's, then presets'
  Design design;

  /// The study as it stands.
  static Selected whole(const Study& study);
  /// Applies one change. Reports criteria of one name from two presets and a selection without any level (E0603).
  bool apply(const Change& change, diag::Emitter& emitter);
};

}  // namespace expc::check
