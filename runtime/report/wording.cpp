#include "runtime/report/wording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/json.h"
#include "runtime/report/layout.h"
#include "runtime/stats/design.h"
#include "runtime/stats/procedures.h"
#include "runtime/stats/width_stop.h"

namespace expc::report {
namespace {

constexpr size_t kListedReasons = 20;
/// Of a reason that no more points share they are named.
constexpr size_t kNamedPoints = 4;

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

/// A parameter as the language writes it where that is plain: text without quotes, a variant as name(value).
std::string parameterText(const llvm::json::Value& value) {
  if (const auto text = value.getAsString()) return text->str();
  if (const auto* object = value.getAsObject(); object && object->size() == 1)
    return fmt::format("{}({})", llvm::StringRef(object->begin()->first).str(),
                       plan::canonicalJson(object->begin()->second));
  return plan::canonicalJson(value);
}

std::string percent(double share) { return fmt::format("{:.2g} %", 100 * share); }

}  // namespace

std::string verdictWord(analysis::Verdict verdict) {
  switch (verdict) {
    case analysis::Verdict::Pass:
      return "PASS";
    case analysis::Verdict::Fail:
      return "FAIL";
    case analysis::Verdict::Inconclusive:
      return "INCONCLUSIVE";
    case analysis::Verdict::Infeasible:
      return "INFEASIBLE";
    case analysis::Verdict::NotRun:
      return "NOT RUN";
    case analysis::Verdict::NotAsked:
      return "NOT ASKED";
  }
  return "UNKNOWN";
}

std::string durationText(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) return "?";
  if (seconds < 0.95) return fmt::format("{:.0f} ms", 1000 * seconds);
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 600)
    return whole % 60 ? fmt::format("{} min {} s", whole / 60, whole % 60) : fmt::format("{} min", whole / 60);
  if (whole < 3600) return fmt::format("{:.0f} min", seconds / 60);
  if (whole < 48 * 3600) {
    const uint64_t minutes = (whole + 30) / 60;
    return minutes % 60 ? fmt::format("{} h {} min", minutes / 60, minutes % 60) : fmt::format("{} h", minutes / 60);
  }
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string scopeText(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
  if (result.verdict == analysis::Verdict::NotAsked) return result.domain;
  const analysis::Scope& scope = result.scope;
  const bool pairs = comparesPoints(criterion);
  std::string text = counted(scope.complete, pairs ? "pair" : "run");
  if (criterion.infeasible)
    text = "out of memory in " + counted(scope.complete, "block");
  else
    text += scope.complete > scope.planned ? fmt::format(", {} planned", scope.planned)
                                           : fmt::format(" of {}", scope.planned);
  const auto as_few = [&](const analysis::CellEstimate& cell) { return cell.scope.complete == scope.complete; };
  if (!criterion.infeasible && result.cells.size() > 1)
    text += std::all_of(result.cells.begin(), result.cells.end(), as_few) ? " in each cell"
                                                                          : " in the cell that has the fewest";
  if (scope.lost) text += fmt::format(", {} lost", scope.lost);
  if (scope.sessions) text += ", " + counted(scope.sessions, "session");
  if (scope.nodes) text += ", " + counted(scope.nodes, "node");
  if (!result.domain.empty()) text = result.domain + "; " + text;
  return criterion.confidence ? text + "; " + analysis::formatConfidence(*criterion.confidence) + " confidence" : text;
}

SaidOnce::SaidOnce(const std::string& above) : said_{above} {
  for (size_t at = above.find(": "); at != std::string::npos; at = above.find(": ", at + 1))
    said_.insert(above.substr(at + 2));
}

std::string SaidOnce::operator()(const std::string& why) {
  const size_t at = why.find(": ");
  if (at == std::string::npos) return said_.count(why) ? "" : why;
  return said_.insert(why.substr(at + 2)).second ? why : why.substr(0, at);
}

bool comparesPoints(const plan::Criterion& criterion) {
  return std::any_of(criterion.cells.begin(), criterion.cells.end(),
                     [](const plan::Cell& cell) { return cell.points.size() > 1; });
}

std::string resolutionText(const plan::Plan& plan, const plan::Criterion& criterion, double noise) {
  if (criterion.not_asked || criterion.cells.empty()) return "";
  const plan::TrialKind kind = criterion.cells[0].kind;
  const auto design = std::find_if(plan.design.kinds.begin(), plan.design.kinds.end(),
                                   [&](const plan::KindDesign& candidate) { return candidate.kind == kind; });
  if (design == plan.design.kinds.end()) return fmt::format("no {} trials are planned", toString(kind));
  if (criterion.infeasible) return "passes when each ran out of memory in 2 blocks, fails when one ran well";
  const unsigned n = design->repeat;
  if (!criterion.confidence) {
    return fmt::format("must hold in every {}, {} in each cell: where none fails, {}",
                       comparesPoints(criterion) ? "pair" : "run", n, analysis::formatWithoutFailure(n));
  }
  const auto exact = [&](const plan::Cell& cell) { return cell.term && analysis::isExact(plan, *cell.term); };
  if (n > 1 && std::all_of(criterion.cells.begin(), criterion.cells.end(), exact))
    return "exact values decide it where they do not vary";
  const double confidence =
      design->until.empty() ? *criterion.confidence : stats::confidenceUnderWidthStop(*criterion.confidence);
  const unsigned needed =
      comparesPoints(criterion) ? stats::minimumPairs(confidence) : stats::minimumForMedian(confidence);
  if (n < needed)
    return fmt::format("{} cannot give an interval at {}: {} are needed", counted(n, "block"),
                       analysis::formatConfidence(*criterion.confidence), needed);
  if (criterion.cells[0].estimator != plan::Estimator::PairedRatio)
    return fmt::format("{} give an interval at {}", counted(n, "block"),
                       analysis::formatConfidence(*criterion.confidence));
  const double half_width = stats::expectedHalfWidth(noise, n, confidence);
  return fmt::format("expected resolution ±{} at {} noise ({}, {})", percent(half_width), percent(noise),
                     counted(n, "block"), analysis::formatConfidence(*criterion.confidence));
}

std::string settingsText(const llvm::json::Object& settings) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : settings)
    texts.push_back(llvm::StringRef(name).str() + " " + plan::canonicalJson(value));
  std::sort(texts.begin(), texts.end());
  return joined(texts);
}

std::string exampleText(const plan::Plan& plan, const std::vector<std::string>& labels) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < labels.size(); ++i)
    texts.push_back(i < plan.factors.size() ? plan.factors[i].name + "=" + labels[i] : labels[i]);
  return joined(texts, " ");
}

void Reasons::add(const std::string& reason, std::string label) {
  auto found = std::find_if(reasons_.begin(), reasons_.end(), [&](const auto& entry) { return entry.first == reason; });
  if (found == reasons_.end()) found = reasons_.insert(reasons_.end(), {reason, {}});
  found->second.push_back(std::move(label));
}

std::vector<std::string> Reasons::lines(const std::string& one, const std::string& many) const {
  std::vector<std::string> texts;
  for (size_t i = 0; i < reasons_.size() && i < kListedReasons; ++i) {
    const auto& [reason, labels] = reasons_[i];
    texts.push_back(fmt::format("{} {}: {}", counted(labels.size(), "point"), labels.size() == 1 ? one : many, reason));
    if (labels.size() <= kNamedPoints) texts.back() += fmt::format(" ({})", joined(labels, "; "));
  }
  if (reasons_.size() > kListedReasons)
    texts.push_back(fmt::format("… and {} more reasons", reasons_.size() - kListedReasons));
  return texts;
}

uint64_t availablePoints(const plan::Plan& plan) {
  return static_cast<uint64_t>(std::count_if(plan.points.begin(), plan.points.end(),
                                             [](const plan::Point& point) { return point.unavailable.empty(); }));
}

namespace {

constexpr size_t kListedLevels = 16;

std::vector<std::string> labelsOf(const plan::Factor& factor) {
  std::vector<std::string> labels;
  for (const plan::Level& level : factor.levels) labels.push_back(level.label);
  return labels;
}

std::string shortened(const std::vector<std::string>& labels) {
  if (labels.size() <= kListedLevels) return joined(labels);
  return fmt::format("{}, {}, {}, …, {} ({} levels)", labels[0], labels[1], labels[2], labels.back(), labels.size());
}

}  // namespace

std::string levelsText(const plan::Factor& factor) { return shortened(labelsOf(factor)); }

std::string declaredText(const plan::Factor& factor) {
  return labelsOf(factor) == factor.declared ? "" : shortened(factor.declared);
}

std::string selectionText(const plan::Plan& plan) {
  std::vector<std::string> texts;
  for (const std::string& preset : plan.presets) texts.push_back("preset " + preset);
  for (const std::string& text : plan.overrides) texts.push_back("-D " + text);
  return joined(texts);
}

std::vector<std::string> metricsOf(const plan::Plan& plan, plan::TrialKind kind) {
  std::vector<std::string> names;
  for (const plan::Metric& metric : plan.metrics)
    if (metric.kind == kind) names.push_back(metric.name);
  return names;
}

std::string repetitionsText(const plan::KindDesign& design) {
  std::string looks;
  for (const unsigned look : design.looks) looks += fmt::format("{}{}", looks.empty() ? ", looks at " : ", ", look);
  if (design.most() == design.repeat) return std::to_string(design.repeat) + looks;
  return fmt::format("{}..{}", design.repeat, design.most());
}

std::string untilText(const plan::Plan& plan, const plan::Until& until) {
  return fmt::format("half_width({}) <= {}", until.subject, widthText(plan, until, until.half_width));
}

std::string widthText(const plan::Plan& plan, const plan::Until& until, double width) {
  if (until.relative) return analysis::formatQuantity(width, "", "share");
  for (const plan::Comparison& comparison : plan.comparisons)
    if (comparison.name == until.subject) return analysis::formatQuantity(width, comparison.unit);
  const plan::Metric* metric = plan.findMetric(until.subject);
  return analysis::formatQuantity(width, metric ? metric->unit : "", metric ? metric->dimension : "");
}

namespace {

/// How many values a verdict rests on that says of single ones that all hold, where they are so few that more than half
/// of further ones may not; else 0.
unsigned fewValues(const analysis::CriterionResult& result) {
  if (result.verdict != analysis::Verdict::Pass) return 0;
  unsigned fewest = 0;
  for (const analysis::CellEstimate& cell : result.cells) {
    if (cell.verdict != analysis::Verdict::Pass) continue;
    const auto n = static_cast<unsigned>(cell.values.size());
    if (cell.interval || n == 0) return 0;
    fewest = fewest == 0 ? n : std::min(fewest, n);
  }
  return fewest > 0 && analysis::showsLittle(fewest) ? fewest : 0;
}

/// Values that show failures to be rare, where none fails.
unsigned valuesToShowRarity() {
  constexpr double kRare = 0.1;
  unsigned n = 1;
  while (stats::zeroFailuresBound(n) > kRare) ++n;
  return n;
}

}  // namespace

std::vector<Caveat> caveatsOf(const analysis::CriterionResult& result) {
  std::vector<Caveat> caveats;
  if (result.provisional)
    caveats.push_back({"provisional", "trials that it rests on are still to come, and may change it"});
  if (!result.untrusted.empty()) caveats.push_back({"untrusted", result.untrusted});
  if (const unsigned n = fewValues(result)) {
    const unsigned enough = valuesToShowRarity();
    caveats.push_back(
        {fmt::format("n={}", n),
         fmt::format(
             "after so few up to {} of further ones may fail (95 % confidence); {}{} without a failure would bring "
             "that to {}",
             percent(stats::zeroFailuresBound(n)), enough, result.cells.size() > 1 ? " in each cell" : "",
             percent(stats::zeroFailuresBound(enough)))});
  }
  return caveats;
}

namespace {

/// "look 2 (before: after 8 repetitions; 14 of 20 now): at 98.2 % each, so that all looks together keep 95 %"; "" where
/// there was one look.
std::string lookText(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
  if (!result.look || !criterion.confidence) return "";
  const analysis::Look& look = *result.look;
  std::string before;
  for (const unsigned repetitions : look.before)
    before += fmt::format("{}{}", before.empty() ? "before: after " : ", ", repetitions);
  if (!before.empty()) before += "; ";
  return fmt::format("look {} ({}{} of {} repetitions now): its intervals have {}, so that all looks together keep {}",
                     look.before.size() + 1, before, look.now, look.of, analysis::formatConfidence(look.confidence),
                     analysis::formatConfidence(*criterion.confidence));
}

}  // namespace

std::string moreBlocksText(const analysis::NextStep& next) {
  return counted(next.blocks, "more block") + (next.seconds ? " (" + durationText(*next.seconds) + ")" : "");
}

namespace {

/// "about 9 more blocks (4 min) would decide it, if the estimates stay where they are", or why none would.
std::string nextStepText(const analysis::CriterionResult& result) {
  if (!result.next) return "";
  const analysis::NextStep& next = *result.next;
  using Reach = analysis::NextStep::Reach;
  if (next.reach == Reach::OutOfReach)
    return "not even a hundred times as many blocks would decide it at this noise: an estimate is too near its bound";
  const std::string blocks = moreBlocksText(next);
  if (next.reach == Reach::Intervals) return blocks + " would give it intervals";
  if (next.reach == Reach::Trusts)
    return fmt::format("about {} would make it trusted, if the control's estimate stays where it is", blocks);
  return fmt::format("about {} would decide it, if the estimates stay where they are", blocks);
}

/// Where the signed rank would speak of another centre than the median.
std::string skewText(const plan::Criterion& criterion, const analysis::CriterionResult& result) {
  constexpr size_t kNamed = 3;
  std::vector<std::string> names;
  for (const analysis::CellEstimate& cell : result.cells)
    if (cell.skewed)
      names.push_back(
          cell.cell < criterion.cells.size() ? analysis::cellLabel(criterion.factors, criterion.cells[cell.cell]) : "");
  if (names.empty()) return "";
  std::string where;
  if (result.cells.size() > 1)
    where = names.size() <= kNamed ? " at " + joined(names)
                                   : fmt::format(" in {} of {} cells", names.size(), result.cells.size());
  return fmt::format("the pairs are skewed{}: there the estimate is their median, with the sign test's interval",
                     where);
}

/// Of the cell whose sessions lie farthest apart.
std::string sessionsText(const plan::Plan& plan, const plan::Criterion& criterion,
                         const analysis::CriterionResult& result) {
  const analysis::CellEstimate* widest = nullptr;
  for (const analysis::CellEstimate& cell : result.cells)
    if (cell.spreads && (!widest || cell.spreads->between > widest->spreads->between)) widest = &cell;
  if (!widest || widest->cell >= criterion.cells.size()) return "";
  const plan::Cell& cell = criterion.cells[widest->cell];
  const std::string where = analysis::cellLabel(criterion.factors, cell);
  return "values scatter by " +
         spreadsText(*widest->spreads, criterion.unit, std::string(analysis::dimensionOf(plan, cell))) +
         (where.empty() ? "" : " (at " + where + ")");
}

}  // namespace

std::vector<std::string> remarksOn(const plan::Plan& plan, const plan::Criterion& criterion,
                                   const analysis::CriterionResult& result) {
  std::vector<std::string> remarks;
  for (std::string remark : {nextStepText(result), lookText(criterion, result), skewText(criterion, result),
                             sessionsText(plan, criterion, result)})
    if (!remark.empty()) remarks.push_back(std::move(remark));
  return remarks;
}

std::string spreadsText(const stats::Spreads& spreads, const std::string& unit, const std::string& dimension) {
  return fmt::format("{} inside a session and {} between {} sessions",
                     analysis::formatQuantity(spreads.within, unit, dimension),
                     analysis::formatQuantity(spreads.between, unit, dimension), spreads.sessions);
}

std::string untilResultText(const plan::Plan& plan, const analysis::UntilState& state) {
  const std::string where = state.where.empty() ? "" : " at " + state.where;
  const std::string so_far =
      fmt::format("{} trials, {} of at most {} repetitions: ", toString(state.kind), state.blocks, state.most);
  if (!state.widest) return so_far + fmt::format("no interval of {} yet{}", state.until.subject, where);
  return so_far + fmt::format("widest half-width of {} is {}{}, {} was asked ({})", state.until.subject,
                              widthText(plan, state.until, *state.widest), where,
                              widthText(plan, state.until, state.until.half_width),
                              state.met                    ? "met"
                              : state.blocks >= state.most ? "not met"
                                                           : "not met yet");
}

std::vector<std::string> referencesTexts(const plan::Plan& plan) {
  std::vector<std::string> here, elsewhere, texts;
  for (const plan::Reference& reference : plan.references)
    (reference.values.empty() ? elsewhere : here).push_back(reference.name + " (" + reference.source + ")");
  if (!here.empty())
    texts.push_back("published values are of " + joined(here) + "; absolute ones are shown and not judged");
  if (!elsewhere.empty())
    texts.push_back("published at other settings than these points have, and not shown: " + joined(elsewhere));
  return texts;
}

namespace {

/// "4 x NVIDIA H100", "2 x null card", "2 x 1 core": the slots of a session.
std::string slotsText(const llvm::json::Array& slots) {
  std::vector<std::pair<std::string, unsigned>> kinds;
  for (const llvm::json::Value& value : slots) {
    const llvm::json::Object* slot = value.getAsObject();
    if (!slot) continue;
    const llvm::json::Array* cores = slot->getArray("cores");
    std::string kind = slot->getString("name").value_or("GPU").str();
    if (slot->getBoolean("null").value_or(false)) kind = "null card";
    if (slot->getString("device") == "cpu") kind = counted(cores ? cores->size() : 0, "core");
    const auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.first == kind; });
    if (same == kinds.end())
      kinds.emplace_back(kind, 1);
    else
      ++same->second;
  }
  std::vector<std::string> texts;
  for (const auto& [kind, count] : kinds) texts.push_back(fmt::format("{} x {}", count, kind));
  return joined(texts);
}

/// Those that trials had in a session; of a CPU with its model, and what they stand for.
std::string sessionDevicesText(const plan::Plan& plan, const store::Session& session) {
  auto environment = plan::parseJson(session.environment_json);
  if (!environment) return llvm::consumeError(environment.takeError()), "";
  const llvm::json::Object* about = environment->getAsObject();
  const llvm::json::Array* slots = about ? about->getArray("slots") : nullptr;
  if (!slots || slots->empty()) return "";
  std::string text = slotsText(*slots);
  const llvm::json::Object* first = slots->front().getAsObject();
  if (!first || first->getString("device") != "cpu") return text;
  if (const llvm::json::Object* machine = about->getObject("machine"))
    if (const auto model = machine->getString("cpu_model"); model && !model->empty()) text += " of " + model->str();
  return plan.points.empty() || !plan.points[0].parameters.get("gpus") ? text : text + " in place of GPUs";
}

}  // namespace

std::string measuredOnText(const plan::Plan& plan, const store::Results& results) {
  constexpr size_t kNamedHosts = 4;
  std::vector<std::pair<std::string, std::vector<std::string>>> kinds;  // with their hosts
  for (const store::Session& session : results.sessions) {
    const std::string devices = sessionDevicesText(plan, session);
    if (devices.empty()) continue;
    auto same = std::find_if(kinds.begin(), kinds.end(), [&](const auto& one) { return one.first == devices; });
    if (same == kinds.end()) same = kinds.insert(kinds.end(), {devices, {}});
    std::vector<std::string>& hosts = same->second;
    if (std::find(hosts.begin(), hosts.end(), session.host) == hosts.end()) hosts.push_back(session.host);
  }
  std::vector<std::string> texts;
  for (auto& [devices, hosts] : kinds) {
    const size_t more = hosts.size() > kNamedHosts ? hosts.size() - kNamedHosts : 0;
    hosts.resize(hosts.size() - more);
    texts.push_back(joined(hosts) + (more ? fmt::format(" and {} more", more) : "") + ": " + devices);
  }
  return joined(texts, "; ");
}

std::string workloadText(const plan::Plan& plan) {
  std::vector<std::string> texts;
  for (const plan::Workload& workload : plan.workloads) {
    std::string text = fmt::format("{} version {}", workload.name, workload.version);
    if (workload.command) text = workload.name + ", the command " + joined(workload.command->arguments, " ");
    texts.push_back(workload.label.empty() ? text : workload.label + " = " + text);
  }
  return joined(texts, "; ");
}

namespace {

/// The study, and what of it: "experiments/precision.exp --study precision --preset quick -D gpus=2".
std::string selectionWords(const plan::Plan& plan, const std::vector<std::string>& overrides) {
  std::string words = shellWord(plan.source) + " --study " + shellWord(plan.study);
  for (const std::string& preset : plan.presets) words += " --preset " + shellWord(preset);
  for (const std::string& text : overrides) words += " -D " + shellWord(text);
  return words;
}

}  // namespace

std::string repeatCommand(const plan::Plan& plan, const std::string& folder,
                          const std::map<plan::TrialKind, unsigned>& repetitions) {
  std::vector<std::string> overrides = plan.overrides;
  for (const auto& [kind, repeat] : repetitions) {
    const std::string setting = fmt::format("design.{}.repeat=", toString(kind));
    std::erase_if(overrides, [&](const std::string& text) { return text.starts_with(setting); });
    const auto design = std::find_if(plan.design.kinds.begin(), plan.design.kinds.end(),
                                     [&](const plan::KindDesign& one) { return one.kind == kind; });
    const bool adapts = design != plan.design.kinds.end() && !design->until.empty();
    overrides.push_back(setting + (adapts ? fmt::format("{}..{}", design->repeat, repeat) : std::to_string(repeat)));
  }
  const std::string command = "expc run " + selectionWords(plan, overrides);
  return folder == "results" ? command : command + " --results " + shellWord(folder);
}

std::string replicateCommand(const plan::Plan& plan, const std::string& folder) {
  return fmt::format("expc replicate {} --of {} --results {}", selectionWords(plan, plan.overrides), shellWord(folder),
                     shellWord(folder + "-again"));
}

std::string wholeStudyCommand(const plan::Plan& plan) {
  return "expc plan " + shellWord(plan.source) + " --study " + shellWord(plan.study);
}

std::vector<std::pair<std::string, std::string>> fixedParameters(const plan::Plan& plan) {
  std::vector<std::pair<std::string, std::string>> fixed;
  if (plan.points.empty()) return fixed;
  for (const auto& [key, value] : plan.points[0].parameters) {
    const llvm::StringRef name = key;
    const bool factor = std::any_of(plan.factors.begin(), plan.factors.end(),
                                    [&](const plan::Factor& candidate) { return name == candidate.name; });
    const bool same = std::all_of(plan.points.begin(), plan.points.end(), [&](const plan::Point& point) {
      const llvm::json::Value* other = point.parameters.get(name);
      return other && *other == value;
    });
    if (factor || !same) continue;
    fixed.emplace_back(name.str(), parameterText(value));
  }
  std::sort(fixed.begin(), fixed.end());
  return fixed;
}

std::vector<double> boundEnds(const plan::Bound& bound) {
  if (bound.relation == plan::Relation::Within) return {bound.low, bound.high};
  return {bound.low};
}

std::string placeText(const plan::Plan& plan, const plan::Place& place) {
  const plan::Point* point = plan.findPoint(place.point);
  return (point ? plan.label(*point) : place.point) + (place.control.empty() ? "" : " (control " + place.control + ")");
}

std::vector<std::string> shortcomings(const plan::Plan& plan, const analysis::Judgement& judgement) {
  std::vector<std::string> lines;
  for (const plan::Point& point : plan.points) {
    for (const plan::KindDesign& design : plan.design.kinds) {
      const analysis::PointStatus* status = judgement.status(point.id, design.kind);
      if (!status) continue;
      const std::string label = plan.label(point);
      const std::string who = fmt::format("{} {}", toString(design.kind), label.empty() ? "trials" : label);
      if (status->lacking)
        lines.push_back(
            fmt::format("{}: {} of {} repetitions, and nothing more is tried by itself (--retry-failed "
                        "does)",
                        who, status->valid, status->planned));
      if (status->unstable())
        lines.push_back(fmt::format("{} is unstable: out of memory in {}, {} beside: {}", who,
                                    counted(status->infeasible, "block"), counted(status->valid, "valid trial"),
                                    status->memory_reason));
      if (status->invalid)
        lines.push_back(fmt::format("{}: {} disturbed and not counted", who, counted(status->invalid, "trial")));
      if (status->superseded)
        lines.push_back(fmt::format("{}: {} count for nothing, since a trial may take longer now", who,
                                    counted(status->superseded, "timeout")));
    }
  }
  return lines;
}

std::map<std::string, unsigned> notesOf(const store::Results& results) {
  std::map<std::string, unsigned> notes;
  for (const store::Trial& trial : results.trials)
    for (const std::string& note : trial.notes) ++notes[note];
  return notes;
}

std::vector<const store::Trial*> lostTrials(const store::Results& results) {
  std::vector<const store::Trial*> lost;
  for (const store::Trial& trial : results.trials)
    if (trial.status != store::TrialStatus::Valid && trial.status != store::TrialStatus::Running)
      lost.push_back(&trial);
  std::reverse(lost.begin(), lost.end());
  return lost;
}

}  // namespace expc::report
