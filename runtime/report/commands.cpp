#include "runtime/report/commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>
#include <vector>

#include "runtime/plan/find.h"

namespace expc::report {
namespace {

/// A shell word; quoted only if it needs to be.
std::string shellWord(const std::string& text) {
  const auto plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) ||
           std::string_view("._-/=:,+@%").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::all_of(text.begin(), text.end(), plain)) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

/// The study, and what of it: "experiments/precision.exp --study precision --preset quick -D gpus=2".
std::string selectionWords(const plan::Plan& plan, const std::vector<std::string>& overrides) {
  std::string words = shellWord(plan.source) + " --study " + shellWord(plan.study);
  for (const std::string& preset : plan.presets) words += " --preset " + shellWord(preset);
  for (const std::string& text : overrides) words += " -D " + shellWord(text);
  return words;
}

std::string resultsWords(const std::string& folder) {
  return folder == "results" ? "" : " --results " + shellWord(folder);
}

}  // namespace

std::string repeatCommand(const plan::Plan& plan, const std::string& folder,
                          const std::map<plan::TrialKind, unsigned>& repetitions, double budget_seconds) {
  std::vector<std::string> overrides = plan.overrides;
  const auto set = [&](const std::string& setting, const std::string& value) {
    std::erase_if(overrides, [&](const std::string& text) { return text.starts_with(setting + "="); });
    overrides.push_back(setting + "=" + value);
  };
  for (const auto& [kind, repeat] : repetitions) {
    const plan::KindDesign* design = plan::designOf(plan, kind);
    const bool adapts = design && !design->until.empty();
    set(fmt::format("design.{}.repeat", toString(kind)),
        adapts ? fmt::format("{}..{}", design->repeat, repeat) : std::to_string(repeat));
  }
  if (budget_seconds > 0) set("design.budget", fmt::format("{:.0f}min", std::ceil(budget_seconds / 60)));
  return "expc run " + selectionWords(plan, overrides) + resultsWords(folder);
}

std::string replicateCommand(const plan::Plan& plan, const std::string& folder) {
  const std::string again = folder + "-again";
  return fmt::format("{}; expc compare {} {} {} --claims", repeatCommand(plan, again),
                     selectionWords(plan, plan.overrides), shellWord(folder), shellWord(again));
}

std::string reportCommand(const plan::Plan& plan, const std::string& folder) {
  return "expc report " + selectionWords(plan, plan.overrides) + resultsWords(folder);
}

std::string wholeStudyCommand(const plan::Plan& plan) {
  return "expc plan " + shellWord(plan.source) + " --study " + shellWord(plan.study);
}

}  // namespace expc::report
