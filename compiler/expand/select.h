#pragma once

// Applies presets and `-D` overrides to a checked study. A preset and an override are both a check::Change,
// resolved and type-checked by the same code, so the command line cannot express what a file could not. Out
// comes Selected: the study with its arguments, kept levels, criteria and design as asked for. Later phases
// read only that.
//
// Levels stay indices into the declared ones, so a restricted study's points are a subset of the whole study's
// and keep their ids.

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/check.h"

namespace expc::expand {

/// The choices of a command line, as texts.
struct Selection {
  /// Required if the file has several studies.
  std::optional<std::string> study;
  /// Applied in this order.
  std::vector<std::string> presets;
  /// Texts of `-D`, applied after the presets.
  std::vector<std::string> overrides;

  bool plain() const { return presets.empty() && overrides.empty(); }
  /// "preset quick, -D gpus=2", for messages.
  std::string describe() const;
};

/// A study with its changes applied, in this order: defaults, the study, presets, overrides. Refers to the
/// study (and to criteria in presets), which must outlive it.
struct Selected {
  const check::Study* study = nullptr;
  /// arguments[use][parameter]: the value that a use of a workload gives, as in check::Use::arguments.
  std::vector<std::vector<std::optional<check::Value>>> arguments;
  /// For each parameter the change that gave its value: a preset's name or the text of `-D`; "" for the study
  /// or a default.
  std::vector<std::string> given_by;
  /// For each parameter the place of that change, if any.
  std::vector<source::Range> given_at;
  /// For each factor the levels that are kept, as ascending indices into the declared ones.
  std::vector<std::vector<unsigned>> levels;
  /// For each factor the change that restricted it; invalid if none did.
  std::vector<source::Range> kept_at;
  /// The study's criteria that no change dropped, then those that presets add.
  std::vector<const check::Criterion*> criteria;
  check::Design design;

  /// The study without changes.
  static Selected whole(const check::Study& study);
  /// Applies one change on top of the earlier ones. A later restriction of a factor replaces an earlier one;
  /// design settings are merged by name. Reports two criteria of one name (E0205) and returns false then.
  bool apply(const check::Change& change, diag::Emitter& emitter);
};

/// The study that a selection names, or all studies of the file. Empty after reporting an unknown name or a
/// file without studies.
std::vector<const check::Study*> chosenStudies(const check::Program& program, const Selection& selection,
                                               diag::Emitter& emitter);

/// Applies the presets and overrides of a selection to one study; nothing after a report. All mistakes are
/// reported, not only the first.
std::optional<Selected> select(const check::Program& program, const check::Study& study, const Selection& selection,
                               diag::Emitter& emitter);

/// A condition over the study's parameters, as in `--where 'gpus > 1'`; null after a report. `option` names the
/// option in diagnostics.
check::FormulaPtr resolveCondition(const check::Program& program, const check::Study& study, const std::string& option,
                                   const std::string& text, diag::Emitter& emitter);

/// Reads "precision=fp32 gpus=2" (blanks or commas between) as one level per factor, nothing for a factor that
/// is not named. The empty text names no factor. Nothing at all after a report.
std::optional<std::vector<std::optional<unsigned>>> resolvePoint(const check::Program& program,
                                                                 const check::Study& study, const std::string& text,
                                                                 diag::Emitter& emitter);

}  // namespace expc::expand
