#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/check.h"

namespace expc::select {

/// What the command line picks.
struct Selection {
  std::optional<std::string> study;    // needed where the file has several
  std::vector<std::string> presets;    // applied in order
  std::vector<std::string> overrides;  // "-D" texts, after the presets

  bool plain() const { return presets.empty() && overrides.empty(); }
  /// "preset quick, -D gpus=2"
  std::string describe() const;
};

/// A study after presets and overrides, in this order: default < study < presets < overrides.
struct Selected {
  const check::Study* study = nullptr;
  /// By use and parameter (Use::arguments), and what gave the value: "" for the study itself or a default, else the
  /// preset's name or the -D text.
  std::vector<std::vector<std::optional<check::Value>>> arguments;
  std::vector<std::string> given_by;              // by parameter
  std::vector<source::Range> given_at;            // by parameter, where given_by says something
  std::vector<std::vector<unsigned>> levels;      // kept levels of each factor, in declared order
  std::vector<source::Range> kept_at;             // by factor, where a change chose these
  std::vector<const check::Criterion*> criteria;  // the study's, then presets'
  check::Design design;

  /// The study as it stands.
  static Selected whole(const check::Study& study);
  /// Applies one change. Reports criteria of one name from two presets.
  bool apply(const check::Change& change, diag::Emitter& emitter);
};

/// The studies that a selection means; empty after a report.
std::vector<const check::Study*> chosenStudies(const check::Program& program, const Selection& selection,
                                               diag::Emitter& emitter);

/// Applies the presets and overrides of a selection; nothing after a report.
std::optional<Selected> select(const check::Program& program, const check::Study& study, const Selection& selection,
                               diag::Emitter& emitter);

/// Resolves one `-D` text ("gpus=2", "precision={fp32,bf16}", "size=64px", "design.timed.repeat=20") against a study:
/// by the declared type, a factor's value selects levels. Nothing after reporting (E01xx, E0601 for a malformed one,
/// else E02xx, E03xx).
std::optional<check::Change> resolveOverride(const check::Program& program, const check::Study& study,
                                             const std::string& text, diag::Emitter& emitter);

/// A condition over the study's parameters, as in `--where 'gpus > 1'`; null after reporting. `option` is what it was
/// given to.
check::FormulaPtr resolveCondition(const check::Program& program, const check::Study& study, const std::string& option,
                                   const std::string& text, diag::Emitter& emitter);

/// "precision=fp32 gpus=2" (or with commas) as levels by factor, nothing where a factor is not named; nothing at all
/// after reporting.
std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const check::Program& program,
                                                                 const check::Study& study, const std::string& text,
                                                                 diag::Emitter& emitter);

}  // namespace expc::select
