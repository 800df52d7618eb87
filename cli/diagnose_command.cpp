// `expc diagnose`: what a design can be expected to find, before it is run. This file reads the assumptions from the
// command line (noise, effects, lost starts) against the plan's metrics and criteria, and prints; the simulation itself
// is runtime/simulate. It also bounds the work, since the user waits in front of the terminal.

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <set>
#include <utility>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/progress_line.h"
#include "compiler/parse/words.h"
#include "runtime/base/failure.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/document.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/simulate/forecast.h"

namespace expc::cli {
namespace {

/// A number of the command line, with or without a unit.
struct Quantity {
  double value = 0;  // in base units: seconds, bytes, shares as fractions
  const words::Unit* unit = nullptr;
};

/// Reads "1.3x", "12ms", "97%" or "3"; nothing if the text is no number or the unit is unknown.
std::optional<Quantity> quantity(StringRef text) {
  // The number is the longest beginning of signs, digits, points and exponents. No unit begins with e, so "2e3" is a
  // number and never a unit.
  const size_t digits = text.find_if([](char c) { return !(llvm::isDigit(c) || StringRef("+-.eE").contains(c)); });
  const StringRef number = text.take_front(digits), unit = text.substr(number.size());
  Quantity quantity;
  if (number.getAsDouble(quantity.value)) return std::nullopt;
  if (unit.empty()) return quantity;
  quantity.unit = words::findUnit({unit.data(), unit.size()});
  if (!quantity.unit) return std::nullopt;
  quantity.value *= double(quantity.unit->above) / double(quantity.unit->below);
  return quantity;
}

/// Whether it can be a share: in per cent, "x", or a bare number.
bool isShare(const Quantity& quantity) { return !quantity.unit || quantity.unit->type == "Share"; }

using Quantities = std::map<std::string, Quantity>;

/// Fills `to` from texts "NAME=VALUE"; with `nameless` also from "VALUE", for the name "".
Error readPairs(const std::vector<std::string>& texts, const char* option, bool nameless, Quantities& to) {
  for (const std::string& text : texts) {
    auto [name, value] = StringRef(text).split('=');
    if (value.empty() && nameless) std::swap(name, value);
    const std::optional<Quantity> number = quantity(value);
    // The message shows an example of the option that was mistyped.
    if (!number || (name.empty() && !nameless))
      return usage("{} {}: expected {}NAME=VALUE, as in {}", option, text, nameless ? "VALUE or " : "",
                   nameless ? "--noise 2% or --noise wall=2%" : "--effect pays=1.3x");
    to[name.str()] = *number;
  }
  return Error::success();
}

/// Fills `assumptions` with shares of noise; the name "" stands for all metrics.
Error readNoise(const Plan& plan, const Quantities& noise, simulate::Assumptions& assumptions) {
  for (const auto& [name, quantity] : noise) {
    const Metric* metric = name.empty() ? nullptr : plan.findMetric(name);
    if (!name.empty() && (!metric || metric->derived))
      return usage("--noise {}: study {} measures no metric of that name", name, plan.study);
    if (!isShare(quantity) || quantity.value < 0)
      return usage("--noise {}: noise is a share of the value, as 2%", name);
    assumptions.noise[name] = quantity.value;
  }
  return Error::success();
}

/// Fills `effects` with the true effects of criteria, or of the assertions that one joins ("useful.gain"), in base
/// units.
Error readEffects(const Plan& plan, const Quantities& stated, std::map<std::string, double>& effects) {
  for (const auto& [name, quantity] : stated) {
    const Criterion* criterion = base::named(plan.criteria, StringRef(name).split('.').first.str());
    if (!criterion) return usage("--effect {}: study {} has no criterion of that name", name, plan.study);
    const auto cell = std::ranges::find(criterion->cells, name, [&](const plan::Cell& one) {
      return plan::isInfeasible(*criterion, one) ? "" : simulate::effectName(*criterion, one);
    });
    const bool found = cell != criterion->cells.end();
    if (!found && (criterion->name != name || !criterion->assertions.empty())) {
      std::set<std::string> known;
      for (const plan::Cell& one : criterion->cells)
        if (!plan::isInfeasible(*criterion, one)) known.insert(simulate::effectName(*criterion, one) + "=VALUE");
      return usage("--effect {}: an effect belongs to a single claim: write {}", name, fmt::join(known, " or "));
    }
    const std::string& of = found ? plan::unitOf(*criterion, *cell) : criterion->unit;
    const words::Unit* unit = words::findUnit(of);
    // A bare number is taken in the criterion's own unit; a unit must be of the same kind.
    const std::string_view type = of.empty() ? "Share" : unit ? unit->type : "";
    if (quantity.unit && quantity.unit->type != type)
      return usage("--effect {0}: the unit '{2}' does not fit, because {0} is about {1}", name,
                   of.empty() ? "shares" : "'" + of + "'", quantity.unit->text);
    effects[name] = quantity.value;
  }
  return Error::success();
}

/// Adds what the study expects, where the command line states nothing.
void assume(const ChosenPlan& one, simulate::Assumptions& assumptions, std::map<std::string, double>& effects) {
  const bool noise = assumptions.noise.empty();
  for (const check::Expectation& expected : one.expected) {
    for (const Criterion& criterion : one.plan.criteria)
      for (const plan::Cell& cell : criterion.cells)
        if (const std::string name = simulate::effectName(criterion, cell);
            !plan::isInfeasible(criterion, cell) &&
            (is_contained(expected.criteria, criterion.name) || name == criterion.name + "." + expected.name))
          effects.try_emplace(name, expected.value);
    for (const std::string& metric : expected.metrics)
      if (noise && expected.noise) assumptions.noise.try_emplace(metric, *expected.noise);
  }
}

size_t cellsOf(const Plan& plan) {
  size_t cells = 0;
  for (const Criterion& criterion : plan.criteria) cells += criterion.cells.size();
  return cells;
}

}  // namespace

Expected<Results> storedOf(const Plan& plan, const std::string& results_folder, bool null_cards) {
  if (!store::isStore(results_folder)) return Results{};
  auto store = TRY(openStore(results_folder));
  return store.loadLatest(plan, null_cards);
}

Exit showDiagnosis(const Plan& plan, const std::string& results, bool null_cards, Format format,
                   const simulate::Assumptions& assumptions, simulate::DiagnosisOptions how, const Console& console) {
  // Work is bounded before it starts. Fewer studies than kFewest would give shares too coarse to be of use, so a plan
  // that is too large for these is refused; between the bounds fewer studies are simulated than asked for, with a
  // message.
  constexpr uint64_t kMostWork = 30'000'000;  // about half a minute of two cores
  constexpr unsigned kFewest = 50;
  const uint64_t each = std::max<uint64_t>(1, simulate::workOf(plan));
  if (each * std::min(how.studies, kFewest) > kMostWork)
    return failure(
        "study {} is too large to simulate: {} points, {} configurations of claims; select fewer with a preset or -D",
        plan.study, plan.points.size(), cellsOf(plan));
  if (each * how.studies > kMostWork) {
    how.studies = unsigned(kMostWork / each);
    console.message("only {} studies are simulated, because each of them is large", how.studies);
  }
  ProgressLine progress("simulating study");
  // Simulating may take half a minute, so a terminal shows how far it is.
  how.tick = [&progress](int64_t done, int64_t total) {
    progress.draw(done, total);
    return Error::success();
  };
  // Stored trials give noise, lost starts and sessions, unless the command line states these.
  auto stored = TRY(storedOf(plan, results, null_cards));
  // Nothing counts, so all assumptions are defaults: say why stored trials were not used.
  if (stored.trials.empty())
    for (const std::string& why : stored.not_counted_reasons) console.message("stored but ignored: {}", why);
  auto diagnosis = simulate::diagnose(plan, simulate::modelOf(plan, stored, assumptions), how);
  simulate::advise(plan, stored, diagnosis);
  progress.clear();
  return console.finish(format == Format::Json ? base::prettyJson(report::diagnosisJson(plan, diagnosis)) + "\n"
                                               : report::documentText(report::diagnosisBlocks(plan, diagnosis),
                                                                      console.width(), console.colourOut()));
}

Exit diagnose(const DiagnoseOptions& options, const Console& console) {
  // Mistakes that need no plan come first: compiling a study only to reject an option would waste the user's time.
  Quantities noise, effects;
  TRY(readPairs(options.noise, "--noise", true, noise));
  TRY(readPairs(options.effects, "--effect", false, effects));
  // A share of 1 would mean that no trial ever ends well, so that nothing could be simulated.
  std::optional<Quantity> lost;
  if (!options.lost.empty()) {
    lost = quantity(options.lost);
    if (!lost || !isShare(*lost) || lost->value < 0 || lost->value >= 1)
      return usage("--lost {}: expected a share, as 2%", options.lost);
  }
  const auto plans = TRY(loadMeasured(options, console));
  if (options.format == Format::Json) TRY(oneStudy(options.study, plans.size(), "a diagnosis"));
  for (const ChosenPlan& one : plans) {
    simulate::Assumptions assumptions;
    simulate::DiagnosisOptions how;
    how.studies = options.studies;
    how.seed = options.seed;
    if (lost) assumptions.lost = lost->value;
    assumptions.sessions = options.sessions;
    TRY(readNoise(one.plan, noise, assumptions));
    TRY(readEffects(one.plan, effects, how.effects));
    assume(one, assumptions, how.effects);
    // A free line between studies; JSON was refused for several.
    if (&one != &plans.front() && !console.print("\n")) return kError;
    // Results of null cards are kept apart from those of real ones.
    const bool null_cards = !options.machine.null_gpus.empty();
    const int code =
        TRY(showDiagnosis(one.plan, options.results, null_cards, options.format, assumptions, how, console));
    if (code != kSuccess) return code;
  }
  return kSuccess;
}

}  // namespace expc::cli
