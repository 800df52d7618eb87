// Sentences about a study that terminal and page share: selection, workload, devices, reasons with their points,
// published values. Devices come from the JSON that sessions recorded, which may be damaged or a stranger's, so every
// member may be missing.

#include "runtime/report/wording.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/numbers.h"
#include "runtime/judge/format.h"
#include "runtime/plan/command.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/sketch.h"
#include "runtime/report/paint.h"
#include "runtime/stats/procedures.h"

namespace expc::report {

using json::Array;
using json::Object;
namespace {

/// Limits of lists; what is beyond is counted.
constexpr size_t kListedReasons = 20;
constexpr size_t kNamedHosts = 4;
/// Points are named behind a reason if at most this many share it.
constexpr size_t kNamedPoints = 2;

/// Formats a parameter as the language writes it: text without quotes, a variant as name(value).
std::string parameterText(const json::Value& value) {
  if (const auto text = value.getAsString()) return text->str();
  if (const auto* object = value.getAsObject(); object && object->size() == 1) {
    // A variant is an object with one member, whose value is the list of its arguments.
    const std::string list = canonicalJson(object->begin()->second);
    StringRef payload = list;
    if (payload.consume_front("[")) payload.consume_back("]");
    return fmt::format("{}({})", StringRef(object->begin()->first).str(), payload.str());
  }
  return canonicalJson(value);
}

/// Describes the slots of a session: "4 x NVIDIA H100", "2 x simulated GPU", "2 x 1 core".
std::string slotsText(const Array& slots) {
  InOrder<std::string, unsigned> kinds;
  for (const json::Value& value : slots) {
    // Slots of one kind are counted; the order of kinds is that of the slots.
    const Object* slot = value.getAsObject();
    if (!slot) continue;
    const Array* cores = slot->getArray("cores");
    std::string kind = slot->getString("name").value_or("GPU").str();
    if (slot->getBoolean("null").value_or(false)) kind = "simulated GPU";
    if (slot->getString("device") == "cpu") kind = counted(cores ? cores->size() : 0, "core");
    ++kinds[kind];
  }
  return joined(textsOf(kinds, [](const auto& one) { return fmt::format("{} x {}", one.second, one.first); }));
}

/// Returns the slots that trials had in a session; empty if it did not record them.
Array slotsOf(const Object& environment) {
  const Array* slots = environment.getArray("slots");
  return slots ? *slots : Array();
}

/// Whether the slots are groups of cores rather than GPUs; all slots of a session are of one kind.
bool areCores(const Array& slots) {
  const Object* first = slots.empty() ? nullptr : slots.front().getAsObject();
  return first && first->getString("device") == "cpu";
}

/// Whether the study asks for GPUs by number, so that cores can only stand in for them.
bool countsGpus(const Plan& plan) { return !plan.points.empty() && plan.points[0].parameters.get("gpus"); }

/// Returns the environment that a session recorded; empty if it cannot be read.
Object environmentOf(const store::Session& session) {
  auto environment = expectedToOptional(parseJson(session.environment_json));
  Object* about = environment ? environment->getAsObject() : nullptr;
  return about ? std::move(*about) : Object();
}

/// Describes the devices of a session: for a CPU its model, and that it stands in for GPUs.
std::string sessionDevicesText(const Plan& plan, const store::Session& session) {
  const Object about = environmentOf(session);
  const Array slots = slotsOf(about);
  if (slots.empty()) return "";
  std::string text = slotsText(slots);
  if (!areCores(slots)) return text;
  if (const Object* machine = about.getObject("machine"))
    if (const auto model = machine->getString("cpu_model"); model && !model->empty()) text += " of " + model->str();
  return countsGpus(plan) ? text + " (not GPUs)" : text;
}

}  // namespace

std::string selectionText(const Plan& plan) {
  std::vector<std::string> texts;
  for (const std::string& preset : plan.presets) texts.push_back("preset " + preset);
  for (const std::string& text : plan.overrides) texts.push_back("-D " + text);
  return joined(texts);
}

std::string untilText(const Plan& plan, const plan::Until& until) {
  return fmt::format("half_width({}) <= {}", until.subject, judge::widthText(plan, until, until.half_width));
}

std::string workloadText(const Plan& plan) {
  std::vector<std::string> texts;
  for (const plan::Workload& workload : plan.workloads) {
    std::string text = fmt::format("{} version {}", workload.name, workload.version);
    if (workload.command) text = workload.name + ", the command " + joined(workload.command->arguments, " ");
    // A label that only repeats the name says nothing.
    const bool named = workload.label.empty() || workload.label == workload.name;
    texts.push_back(named ? text : workload.label + " = " + text);
  }
  return joined(texts, "; ");
}

std::vector<std::pair<std::string, std::string>> fixedParameters(const Plan& plan) {
  std::vector<std::pair<std::string, std::string>> fixed;
  if (plan.points.empty()) return fixed;
  for (const auto& [key, value] : plan.points[0].parameters) {
    const StringRef name = key;
    // A parameter counts as fixed if every point has it with the same value. Workloads without it, and factors, do not.
    const bool factor =
        std::ranges::any_of(plan.factors, [&](const plan::Factor& candidate) { return name == candidate.name; });
    const bool same = std::ranges::all_of(plan.points, [&](const Point& point) {
      const json::Value* other = point.parameters.get(name);
      return other && *other == value;
    });
    if (factor || !same) continue;
    fixed.emplace_back(name.str(), parameterText(value));
  }
  std::ranges::sort(fixed);
  return fixed;
}

std::string placeText(const Plan& plan, const Place& place) {
  const Point* point = plan.findPoint(place.point);
  return (point ? plan.label(*point) : place.point) + framed(" (control ", place.control, ")");
}

std::string assertionText(const Criterion& criterion) {
  StringRef text = criterion.text;
  text = text.take_front(std::min(text.find(" with confidence "), text.size()));
  if (!plan::isComposed(criterion) && (text.starts_with("forall ") || text.starts_with("exists ")))
    if (const size_t colon = text.rfind(": "); colon != StringRef::npos) text = text.drop_front(colon + 2);
  return text.str();
}

std::vector<plan::Note> notesOf(const Plan& plan, const Trial& trial) {
  std::vector<plan::Note> notes = trial.notes;
  const Plan::Process* process = trial.rows.empty() ? nullptr : plan.findProcess(trial.place().point);
  if (process) {
    const plan::Command& command = *plan.workloads[process->whole.workload].command;
    std::set<std::string> asked, others;
    for (const unsigned row : process->rows) asked.insert(plan::rowKey(command, plan.points[row].parameters));
    for (const auto& [key, row] : trial.rows)
      if (!asked.contains(key)) others.insert(key);
    if (!others.empty())
      notes.emplace_back(fmt::format("{} that no level names: {}", counted(others.size(), "row"),
                                     fewOf({others.begin(), others.end()}, 3, ", ")));
  }
  for (const Metric& metric : plan.metrics) {
    if (!metric.derived) continue;
    plan::forEachTerm(*metric.derived, [&](const plan::Term& term) {
      const auto* reduced = term.as<plan::ReduceTerm>();
      const auto* series = reduced ? entryOf(trial.series, reduced->series.metric) : nullptr;
      if (!series) return;
      const bool sketch = plan.findMetric(reduced->series.metric)->distribution;
      const uint64_t count = sketch ? plan::countOf(*series) : series->size();
      if (auto note = plan::fewValues(metric.name, count, reduced->reduction)) notes.push_back(*note);
    });
  }
  return notes;
}

std::string noteText(const plan::Note& note) {
  using plan::Note;
  // 0: the name. 1: the number. 2: what was said. 3: the number in per cent. 4 to 6: what follows from these. 7: of.
  static constexpr base::Word<Note::Code> kTexts[] = {
      {"{2}", Note::Said},
      {"shared its cores with other processes (over {3:.0f} %)", Note::Crowded},
      {"{0} is not known of it{4}, so this limit was not applied", Note::LimitUnknown},
      {"{0} diverged: it is {1:f}", Note::Diverged},
      {"it continued, though {2}", Note::WentOn},
      {"numa = any: this machine has one memory node, so all that differs from near is that ranks may move between "
       "cores",
       Note::AnyPlace},
      {"{1:.0f} process{5} that the command left behind {6} ended", Note::LeftBehind},
      {"host_memory_peak is at most what it says: what starts the program takes as much", Note::StarterPeak},
      {"{0} is made up, so nothing is known of real data; losses and accuracies mean nothing", Note::MadeUp},
      {"{0} is read from before '{2}', which has the same words and no number", Note::ReadBefore},
      {"{0} is {2} of fewer than {1:.0f} values, of which less than one is expected beyond it", Note::FewValues},
      {"{1:.0f} of {7:.0f} {2}s are also trained on, so {0} there measures memorisation", Note::Leaked},
      {"{1:.0f} of {7:.0f} {2}s differ from a training row only in case or white space", Note::NearlyLeaked},
      {"{1:.0f} of {7:.0f} rows are held out for evaluation", Note::HeldOut},
      {"{1:.0f} of {7:.0f} texts were truncated to max_length", Note::Truncated},
      {"{1:.0f} of {7:.0f} rows are skipped: they have no answer to learn within max_length", Note::Unlearnt},
      {"{1:.0f} of {7:.0f} pairs are skipped: their two answers are equal within max_length", Note::EqualPairs}};
  const bool short_trial = note.name == "other_cpu";
  return fmt::format(fmt::runtime(std::string_view(base::wordOf(kTexts, note.code))), note.name, note.number, note.said,
                     100 * note.number, short_trial ? ", as of trials that have a core for less than a second" : "",
                     note.number == 1 ? "" : "es", note.number == 1 ? "was" : "were", note.of);
}

std::vector<std::pair<std::string, unsigned>> NoteCounts::texts(bool frequent) const {
  std::vector<std::pair<std::pair<bool, std::string>, unsigned>> all(counts_.begin(), counts_.end());
  if (frequent)
    std::ranges::stable_sort(all, [](const auto& a, const auto& b) {
      return std::pair(a.first.first, -int64_t{a.second}) < std::pair(b.first.first, -int64_t{b.second});
    });
  std::vector<std::pair<std::string, unsigned>> texts;
  for (auto& [key, count] : all) texts.emplace_back(std::move(key.second), count);
  return texts;
}

std::vector<std::string> reasonLines(const Reasons& reasons, const std::string& one, const std::string& many) {
  std::vector<std::string> texts;
  for (const auto& [reason, labels] : reasons | std::views::take(kListedReasons)) {
    // Points are named only if few share the reason: a list of dozens hides it.
    texts.push_back(fmt::format("{} {}: {}", counted(labels.size(), "point"), labels.size() == 1 ? one : many, reason));
    if (labels.size() <= kNamedPoints) texts.back() += fmt::format(" ({})", joined(labels, "; "));
  }
  if (reasons.size() > kListedReasons)
    texts.push_back(fmt::format("… and {} more reasons", reasons.size() - kListedReasons));
  return texts;
}

std::string fromTo(std::string interval) {
  if (interval.size() < 2) return "";
  interval = interval.substr(1, interval.size() - 2);
  if (const size_t comma = interval.find(", "); comma != std::string::npos) interval.replace(comma, 2, " to ");
  return interval;
}

std::string spreadsText(const stats::Spreads& spreads, const std::string& unit, const std::string& dimension) {
  return fmt::format("{} within a session and {} between {} sessions", formatQuantity(spreads.within, unit, dimension),
                     formatQuantity(spreads.between, unit, dimension), spreads.sessions);
}

std::vector<std::string> referencesTexts(const Plan& plan) {
  std::vector<std::string> here, elsewhere, texts;
  for (const plan::Reference& reference : plan.references)
    (reference.values.empty() ? elsewhere : here).push_back(reference.name + " (" + reference.source + ")");
  // Cells of one point with bounds of their own are agreement with a reference: then published values are judged.
  const bool judged = std::ranges::any_of(plan.criteria, [](const Criterion& criterion) {
    return std::ranges::any_of(criterion.cells,
                               [](const plan::Cell& cell) { return cell.bound && cell.points.size() == 1; });
  });
  if (!here.empty())
    texts.push_back("published values are of " + joined(here) +
                    (judged ? "" : "; absolute ones are shown and not judged"));
  if (!elsewhere.empty())
    texts.push_back("published at other settings than these points have, and not shown: " + joined(elsewhere));
  return texts;
}

bool coresStandForGpus(const Plan& plan, const Results& results) {
  return countsGpus(plan) && std::ranges::any_of(results.sessions, [](const store::Session& session) {
           return areCores(slotsOf(environmentOf(session)));
         });
}

std::string measuredOnText(const Plan& plan, const Results& results) {
  InOrder<std::string, std::vector<std::string>> kinds;  // with their hosts
  for (const store::Session& session : results.sessions) {
    const std::string devices = sessionDevicesText(plan, session);
    if (devices.empty()) continue;
    // Hosts with the same devices share an entry, and a host with several sessions is named once.
    base::addOnce(kinds[devices], session.where.machine());
  }
  return joined(textsOf(kinds, [](const auto& one) { return fewOf(one.second, kNamedHosts) + ": " + one.first; }),
                "; ");
}

std::string withoutFailureText(unsigned n, const std::string& noun, const std::string& conditions) {
  const double percent = 100 * stats::zeroFailuresBound(n);
  // With few trials the bound is so high that saying "at most 95 %" would look like a result; say instead what they
  // cannot exclude.
  if (judge::showsLittle(n))
    return fmt::format("{} cannot exclude, at 95 % confidence, that up to {:.2g} % of such {}s would fail",
                       counted(n, noun), percent, noun);
  return fmt::format("{} passes show, at 95 % confidence, that at most {:.2g} % of such {}s would fail{}", n, percent,
                     noun, conditions);
}

std::string withoutPartnerText(const Comparison& comparison) {
  if (!comparison.without_partner) return "";
  if (comparison.over.empty())
    return fmt::format(
        "{} left out of the aggregate: {}",
        comparison.without_partner == 1 ? "1 part is" : fmt::format("{} parts are", comparison.without_partner),
        comparison.without_partner_why);
  return fmt::format(
      "{} nothing to compare with: {}",
      comparison.without_partner == 1 ? "1 point has" : fmt::format("{} points have", comparison.without_partner),
      comparison.without_partner_why);
}

}  // namespace expc::report
