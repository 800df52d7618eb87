// Documents about what moved between two sides and about what became of conclusions. Comparing values is
// analysis/sides; a side's verdicts were judged before. Here they are matched by criterion, differences of machine,
// build and data are listed beside them, and the outcome is decided. No trial of one side is ever paired with one of
// the other: they lie in different sessions.

#include "runtime/export/sides.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json_record.h"
#include "runtime/base/numbers.h"
#include "runtime/base/text.h"
#include "runtime/describe/sides.h"
#include "runtime/export/table.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/meaning.h"
#include "runtime/report/document.h"
#include "runtime/report/records_json.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {
namespace {

using describe::Shift;
using json::Object;
using judge::Answer;
using report::MissingThing;

// ---- verdicts of the sides

/// A criterion that the study asks, with its result on every side.
struct Claim {
  const Criterion& criterion;
  /// Results by side; null if the criterion is not asked there.
  std::vector<const CriterionResult*> results = {};

  /// The answer on a side, and the verdict as the report words it.
  Answer answer(size_t side) const {
    return results[side] ? judge::meaningOf(*results[side]).answer : Answer::NotAsked;
  }
  std::string verdict(size_t side) const {
    return results[side] ? report::markedVerdict(*results[side]) : std::string("NOT ASKED");
  }
  /// Whether the wording differs between the first and the last side, marks of doubt included.
  bool changed() const { return verdict(0) != verdict(results.size() - 1); }
  /// Whether it held on the first side and does not on the last.
  bool lost() const { return answer(0) == Answer::Holds && answer(results.size() - 1) != Answer::Holds; }

  /// The outcome of the conclusion, which is a decided verdict of the first side: not run if there is none, a fail if
  /// another side is decided otherwise, a pass if all decided sides agree, inconclusive if no other side is decided.
  Verdict fate() const {
    const auto decided = [&](size_t side) { return answer(side) == Answer::Holds || answer(side) == Answer::Fails; };
    if (!decided(0)) return Verdict::NotRun;
    Verdict fate = Verdict::Inconclusive;
    for (size_t side = 1; side < results.size(); ++side) {
      if (!decided(side)) continue;
      if (answer(side) != answer(0)) return Verdict::Fail;
      fate = Verdict::Pass;
    }
    return fate;
  }
};

/// The word for the outcome of a conclusion.
std::string_view fateText(Verdict fate) {
  return fate == Verdict::Pass           ? "replicated"
         : fate == Verdict::Fail         ? "contradicted"
         : fate == Verdict::Inconclusive ? "undecided"
                                         : "nothing to replicate";
}

/// The word for it in `expc.compare/2`, whose words stay.
std::string_view fateWord(Verdict fate) {
  return fate == Verdict::Pass || fate == Verdict::Fail ? fateText(fate)
         : fate == Verdict::Inconclusive                ? "open"
                                                        : "without a conclusion to replicate";
}

/// Returns the criteria that are asked, in the study's order.
std::vector<Claim> claimsOf(const Plan& plan, std::span<const Side> sides) {
  std::vector<Claim> claims;
  for (const Criterion& criterion : plan.criteria) {
    if (criterion.not_asked) continue;
    claims.push_back({criterion});
    for (const Side& side : sides)
      claims.back().results.push_back(base::named(side.judgement.criteria, criterion.name));
  }
  return claims;
}

/// Returns the section of verdicts: with `every` what each side says, with its estimates; else only what the last side
/// says, if that changed.
Section verdictsOf(const Plan& plan, std::span<const Side> sides, const std::vector<Claim>& claims, bool every) {
  constexpr size_t kListed = 8;
  Section section{{"verdicts"}};
  for (const Claim& claim : claims) {
    // Without `every`, the wording of both sides shows the change itself.
    const std::string became(fateText(claim.fate()));
    const std::string words = (claim.changed() ? claim.verdict(0) + " → " : "") + claim.verdict(sides.size() - 1);
    section.say({.text = claim.criterion.text,
                 .word = every ? became : words,
                 .style = every             ? judge::meaningOf(claim.fate()).style
                          : claim.lost()    ? "fail"
                          : claim.changed() ? "open"
                                            : "",
                 .of = claim.criterion.name});
    std::vector<Object> all;
    for (size_t i = 0; i < sides.size(); ++i) {
      const std::string why = claim.results[i] ? report::whyText({plan, claim.criterion, *claim.results[i]}) : "";
      const auto line = [&](const auto& cell) { return report::cellLine(plan, claim.criterion, cell); };
      const auto cells = claim.results[i] ? base::textsOf(claim.results[i]->cells, line) : std::vector<std::string>();
      if (every || (claim.changed() && i + 1 == sides.size()))
        section.say({.text = claim.verdict(i) + base::framed(": ", why), .of = sides[i].name, .depth = 1});
      const std::string look = claim.results[i] ? report::lookText({plan, claim.criterion, *claim.results[i]}) : "";
      if (every && !look.empty()) section.say({.text = look, .depth = 2});
      std::vector<report::Block> lines;
      for (const std::string& cell : cells) say(lines, {.text = cell, .depth = 2});
      report::shorten(lines, kListed, {.depth = 2});
      if (every) append(section.part.blocks, std::move(lines));
      all.push_back(
          base::record("side", sides[i].name, "verdict", claim.verdict(i), "why", why, "look", look, "cells", cells));
    }
    section.json.push_back(base::record(EXPC_NAMED(claim.criterion, name, text), "became",
                                        std::string(fateWord(claim.fate())), "changed", claim.changed(), "lost",
                                        claim.lost(), "sides", all));
  }
  return section;
}

std::vector<std::string> namesOf(std::span<const Side> sides) { return base::textsOf(sides, &Side::name); }

// ---- differences between two sides

std::string orNone(const std::set<std::string>& texts) {
  return texts.empty() ? "none" : base::joined({texts.begin(), texts.end()});
}

/// Returns what the trials of a side have, each value once: builds, digests, days.
std::set<std::string> ofTrials(const Side& side, const std::function<std::string(const Trial&)>& of) {
  std::set<std::string> texts;
  for (const Trial& trial : side.results.trials) texts.insert(of(trial));
  texts.erase("");
  return texts;
}

/// Returns the machines of a side's sessions.
std::string hostsOf(const Side& side) {
  std::set<std::string> hosts;
  for (const store::Session& session : side.results.sessions) hosts.insert(session.where.machine());
  return orNone(hosts);
}

/// Returns the day of a side's trials, or the first and the last.
std::string daysOf(const Side& side) {
  const auto days = ofTrials(side, [](const auto& trial) { return timeText({trial.started}).substr(0, 10); });
  return days.size() < 2 ? orNone(days) : *days.begin() + " to " + *days.rbegin();
}

/// Returns the section of what differs between the sides besides their values: any of it may be why values moved.
Section differences(const Side& one, const Side& other) {
  Section section{{.title = "differences", .folded = true}};
  const auto add = [&](const char* what, const std::function<std::string(const Side&)>& text) {
    const std::string before = text(one), after = text(other);
    if (before == after) return;
    section.say({.text = before + " → " + after, .of = what});
    section.json.push_back(base::record("what", std::string(what), "before", before, "after", after));
  };
  const auto of = [&](const char* what, const std::function<std::string(const store::TrialKey&)>& text) {
    add(what,
        [&](const Side& side) { return orNone(ofTrials(side, [&](const Trial& trial) { return text(*trial.key); })); });
  };
  add("machine", hostsOf);
  of("kind of machine", &store::TrialKey::environment_class);
  of("worker", &store::TrialKey::worker_build);
  of("program or data", [](const store::TrialKey& key) { return key.data.substr(0, 12); });
  add("days", daysOf);
  // One difference is the explanation at hand; several cannot be told apart.
  if (section.json.size() > 1) section.part.rest = "each may explain a change";
  return section;
}

/// Returns the section that says how far the comparison reaches: few sessions cannot show how much sessions differ by
/// themselves.
Section scopeOf(const describe::Sides& sides) {
  const auto of = [](const judge::Scope& side) {
    return base::counted(side.sessions, "session") + ", " + base::counted(side.nodes, "node");
  };
  Section section{{.title = "scope", .folded = true}};
  const auto say = [&](const std::string& text) {
    section.say({text});
    section.json.push_back(jsonText(text));
  };
  say(fmt::format("before: {}; after: {}. The sides are compared unpaired", of(sides.before), of(sides.after)));
  if (sides.generalises())
    say("intervals include the variation between sessions, so changes hold for similar sessions");
  else if (sides.ofChance())
    say(fmt::format(
        "with so few sessions the variation between sessions is unknown, so only changes above {:.2f}x count. Add "
        "sessions (`expc run --fresh` after a restart), or compare both as levels of a factor in one study",
        describe::kSessionsApart));
  if (std::ranges::any_of(sides.shifts, &Shift::constant))
    say("exact metrics that never varied on either side are compared directly");
  return section;
}

/// Returns what fails after and did not before, and what one side has no value of, so that it cannot be compared.
std::vector<MissingThing> missingOf(const Plan& plan, const Judgement& before, const Judgement& after) {
  std::vector<MissingThing> all = report::missingThings(plan, after);
  const auto known = [&](const std::string& what) { return std::ranges::count(all, what, &MissingThing::what) > 0; };
  const auto ran_out = [](const PointStatus& status) { return status.infeasible >= judge::kInfeasibleBlocks; };
  for (const MissingThing& one : report::missingThings(plan, before))
    if (!known(one.what)) all.push_back({one.what, "no value before: " + one.why, Verdict::Inconclusive});
  for (const PointStatus& now : after.points) {
    const PointStatus* then = before.status(now.point, now.kind);
    const Point* point = plan.findPoint(now.point);
    // Only a point that newly loses blocks, or newly runs out of memory.
    if (!then || !point || (now.lost == 0 || then->lost > 0) == (!ran_out(now) || ran_out(*then))) continue;
    std::string what = judge::missingPoint(plan, now.kind, *point);
    if (known(what)) continue;
    all.push_back({std::move(what),
                   ran_out(now) ? now.memory_reason
                                : fmt::format("failed in {}: {}", base::counted(now.lost, "block"), now.last_reason),
                   Verdict::Broken});
  }
  return all;
}

/// Returns the section of what is missing; `rest` explains its title.
Section missingSection(const std::vector<MissingThing>& missing, const char* rest) {
  Section section{{.title = "missing", .rest = missing.empty() ? "" : rest}};
  append(section.part.blocks, report::missingLines(missing));
  for (const MissingThing& one : missing) section.json.push_back(base::written(one));
  return section;
}

// ---- values that moved

/// Formats a change: "1.12x [1.10x, 1.14x]", "+3.0 ms".
std::string changeText(const Shift& shift) {
  if (!shift.estimate) return "–";
  const std::string_view unit = shift.ratio ? "x" : std::string_view(shift.unit);
  const std::string_view dimension = shift.ratio                  ? ""
                                     : shift.dimension == "share" ? base::kPoints
                                                                  : std::string_view(shift.dimension);
  if (!shift.constant && shift.interval) return base::formatEstimate(*shift.estimate, *shift.interval, unit, dimension);
  return base::formatQuantity(*shift.estimate, unit, dimension) + (shift.constant ? " constant" : "");
}

/// Returns the row of a change. The last cell says which way it goes, and whether that is within the margin.
report::Row rowOf(const Shift& shift, double margin) {
  const auto value = [&](const std::optional<double>& one) {
    return one ? base::formatQuantity(*one, shift.unit, shift.dimension) : std::string("–");
  };
  const char* way = shift.apart                       ? "undecided"
                    : !shift.worse                    ? ""
                    : !*shift.worse                   ? (shift.zero ? "undecided: values of 0" : "better")
                    : shift.regression || margin == 0 ? "worse"
                                                      : "worse, within the margin";
  return {{{shift.subject},
           {shift.label},
           {value(shift.before)},
           {value(shift.after)},
           {changeText(shift)},
           {fmt::format("{}, {}", shift.before_n, shift.after_n)},
           {way}}};
}

/// Summarises the shifts: "3 of 24 moved (Holm over 24 at 95 %); 4 could not have been found to move with so few
/// values".
std::string summary(const describe::Sides& sides) {
  const auto count = [&](bool Shift::* is) { return std::ranges::count(sides.shifts, true, is); };
  std::string text = fmt::format("{} of {} changed", count(&Shift::moved), sides.shifts.size());
  if (sides.tested > 0)
    text += fmt::format(" (Holm-corrected over {} at {})", sides.tested, base::formatConfidence(judge::kConfidence));
  if (const auto apart = count(&Shift::apart))
    text += fmt::format("; {} undecided: the sides differ, but no more than sessions of one side may differ", apart);
  if (const size_t few = sides.shifts.size() - size_t(count(&Shift::tellable)))
    text += fmt::format("; {} have too few values for any change to be detected", few);
  if (sides.only_before + sides.only_after > 0)
    text += fmt::format("; only before: {}; only after: {}", sides.only_before, sides.only_after);
  return text;
}

/// Returns the section of values: a row for each that moved, regressions first, then by p, and for each whose sides lie
/// apart no more than sessions may. All values are in the JSON.
Section values(const describe::Sides& sides, double margin) {
  using Kind = report::Column::Kind;
  report::Table table{
      .columns =
          {{"what", Kind::Label}, {"where", Kind::Label}, {"before"}, {"after"}, {"change"}, {"n"}, {"", Kind::Words}},
      .most = report::kMostInMarkdown,  // a pull request and a terminal show the same
      .rest = "--format json has all"};
  Section section{{.title = "values", .rest = summary(sides)}};
  std::vector<const Shift*> moved;
  for (const Shift& shift : sides.shifts) {
    section.json.push_back(base::written(shift));
    if (shift.moved || shift.apart) moved.push_back(&shift);
  }
  // Regressions first, then what moved before what only lies apart, then by p.
  std::ranges::stable_sort(moved, {},
                           [](const Shift* one) { return std::tuple(!one->regression, one->apart, one->p); });
  for (const Shift* shift : moved) table.rows.push_back(rowOf(*shift, margin));
  table.all = table.rows.size();
  section.part.blocks.emplace_back(std::move(table));
  return section;
}

/// Decides the outcome of the whole comparison, as the header says. A lost verdict fails only if something moved, for
/// worse or in no known direction: otherwise fewer trials may be the reason.
Verdict outcomeOf(const describe::Sides& sides, const std::vector<Claim>& claims,
                  const std::vector<MissingThing>& missing) {
  const auto any = [&](const auto& holds) { return std::ranges::any_of(sides.shifts, holds); };
  const bool lost = std::ranges::any_of(claims, &Claim::lost);
  if (std::ranges::count(missing, Verdict::Broken, &MissingThing::verdict) > 0) return Verdict::Broken;
  if (any([&](const Shift& shift) { return shift.regression || (lost && shift.moved && shift.worse.value_or(true)); }))
    return Verdict::Fail;
  const bool open = lost || !missing.empty() || sides.only_before + sides.only_after > 0 || any(&Shift::open);
  return open ? Verdict::Inconclusive : Verdict::Pass;
}

}  // namespace

Document::Document(const Plan& plan, const std::vector<std::string>& sides, Verdict outcome)
    : title("study " + plan.study + ": "), outcome(outcome), exit_code(judge::meaningOf(outcome).exit_code) {
  json = base::record("schema", std::string("expc.compare/2"), "study", plan.study, "sides", sides, "outcome", outcome);
}

std::vector<report::Part> partsOf(const Document& document) {
  std::vector<report::Part> parts;
  for (const Section& one : document.sections)
    if (!one.part.rest.empty() || !one.part.blocks.empty()) parts.push_back(one.part);
  return parts;
}

std::string text(const Document& document, unsigned width, bool colour) {
  std::vector<report::Block> blocks{report::Paragraph{.of = document.title}};
  append(blocks, partsOf(document));
  return report::documentText(blocks, width, colour);
}

json::Value json(Document document) {
  for (Section& one : document.sections) document.json[one.part.title] = std::move(one.json);
  return std::move(document.json);
}

Document moves(const Plan& plan, std::span<const Side> sides, double margin) {
  const Side &before = sides.front(), &after = sides.back();
  const describe::Sides found =
      describe::compareSides(judge::Index(plan, before.results), judge::Index(plan, after.results), margin);
  const std::vector<Claim> claims = claimsOf(plan, sides);
  const std::vector<MissingThing> missing = missingOf(plan, before.judgement, after.judgement);
  Document document(plan, namesOf(sides), outcomeOf(found, claims, missing));
  document.title += before.name + " → " + after.name;
  document.json["margin"] = margin;
  document.json["tested"] = found.tested;
  Section verdicts = verdictsOf(plan, sides, claims, false);
  if (!claims.empty())
    verdicts.part.rest =
        fmt::format("{} of {} changed", std::ranges::count(claims, true, &Claim::changed), claims.size());
  document.sections = {differences(before, after), std::move(verdicts),
                       missingSection(missing, "not comparable, or failing after"), values(found, margin),
                       scopeOf(found)};
  return document;
}

Document conclusions(const Plan& plan, std::span<const Side> sides) {
  const std::vector<Claim> claims = claimsOf(plan, sides);
  std::vector<std::string> counts;
  Verdict outcome = Verdict::NotRun;
  for (const Verdict fate : {Verdict::Fail, Verdict::Inconclusive, Verdict::Pass, Verdict::NotRun})
    if (const auto count = std::ranges::count(claims, fate, &Claim::fate)) {
      // The order is from worst to best, so the first that occurs is the outcome.
      if (counts.empty()) outcome = fate;
      counts.push_back(fmt::format("{} {}", count, fateText(fate)));
    }
  if (claims.empty()) counts.emplace_back("the study has no criterion, so there is nothing to replicate");
  bool broken = false;
  std::vector<MissingThing> missing;
  for (const Side& side : sides.subspan(1)) {
    broken |= judge::exitCode(side.judgement) == judge::meaningOf(Verdict::Broken).exit_code;
    for (const MissingThing& one : report::missingThings(plan, side.judgement))
      missing.push_back({one.what + " on " + side.name, one.why, one.verdict});
  }
  // Everything replicated, but not everything could be looked at.
  if (outcome == Verdict::Pass && !missing.empty()) outcome = Verdict::Inconclusive;
  Document document(plan, namesOf(sides), broken ? Verdict::Broken : outcome);
  document.title += fmt::format("conclusions of {} on {}", sides.front().name, base::joined(namesOf(sides.subspan(1))));
  if (document.outcome == Verdict::NotRun) document.exit_code = 5;
  document.sections = {verdictsOf(plan, sides, claims, true), missingSection(missing, "no value elsewhere")};
  document.sections[0].part.rest = base::joined(counts);
  return document;
}

}  // namespace expc::exports
