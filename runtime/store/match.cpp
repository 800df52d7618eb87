// The rule has two parts. A trial's key must equal the key that a trial would get now (keyOf, Counting::objection);
// and a valid trial must have every metric asked for. Most of this file explains a difference to the user, in the
// terms of files, variables and settings.

#include "runtime/store/match.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <ranges>
#include <string_view>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/text.h"
#include "runtime/plan/command.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/trial_report.h"

namespace expc::store {

using json::Object;
using json::Value;
namespace {

/// The differences between two runs in the parts of aggregate `of`, behind a colon; "" if one of the runs did not
/// record its parts.
std::string partChanges(const std::string& of, const Match& then, const Match& now, bool values) {
  const std::string prefix = partKey(of, "");
  const auto parts = [&](const Match& match) {
    std::map<std::string, std::string> found;
    for (const auto& [key, value] : match.data_digests)
      if (StringRef name(key); name.consume_front(prefix)) found[name.str()] = value;
    return found;
  };
  const auto was = parts(then), is = parts(now);
  return was.empty() || is.empty() || was == is ? "" : ": " + changes(was, is, values);
}

/// One digest of everything that a point reads: data files, the command's program and inputs, and prepared files.
/// "" if it reads nothing.
std::string dataOf(const Plan& plan, const Point& point, const std::map<std::string, std::string>& digests) {
  // Digests, not paths: data that was moved still counts. A set, so that the order of parameters does not matter.
  std::set<std::string> found;
  for (const std::string& path : dataPathsOf(point, plan.data_paths))
    if (const auto* digest = entryOf(digests, path)) found.insert(*digest);
  const plan::Workload& workload = plan.workloads[point.workload];
  if (const auto* command = workload.command ? entryOf(digests, commandKey(workload)) : nullptr) found.insert(*command);
  for (const std::string& file : preparedFilesOf(plan, point, digests))
    if (const auto* digest = entryOf(digests, file)) found.insert(file + " " + *digest);
  std::string joined;
  for (const std::string& digest : found) joined += digest + "\n";
  return joined.empty() ? "" : base::shortHash(joined);
}

/// Digests of how each metric of this kind is read, and of each expectation. Names of expectations are their
/// digests, since they have no others.
std::map<std::string, std::string> readingsOf(const Plan& plan, const plan::Command& command, TrialKind kind) {
  std::map<std::string, std::string> readings;
  std::string rows;  // how rows are told apart
  for (const plan::CommandMetric& key : command.inside) rows += "\n" + canonicalJson(plan::toJson(key));
  for (const plan::Expectation& expectation : command.expectations) {
    const std::string digest = base::shortHash(canonicalJson(base::written(expectation)));
    readings["expect " + digest] = digest;
  }
  for (const plan::CommandMetric& metric : command.metrics) {
    const Metric* asked = plan.findMetric(metric.name);
    if (!asked || asked->kind != kind) continue;
    // From and Take have numbers of their own, which never change: stored trials would not count any more.
    std::string reading =
        fmt::format("{}\n{}\n{}\n{:a}\n{}", int(metric.from), metric.file, metric.where, metric.scale, metric.series);
    if (metric.take) {
      const auto& [take, percentile, skip, first, last] = *metric.take;
      reading += fmt::format("\n{}", int(take));
      if (percentile > 0 || skip > 0 || first > 0 || last > 0)
        reading += fmt::format("\n{:a}\n{}\n{}\n{}", percentile, skip, first, last);
    }
    if (metric.optional) reading += "\noptional";
    if (metric.distribution) reading += "\ndistribution";
    for (const std::string& more : {metric.group, metric.part, metric.units})
      if (!more.empty()) reading += "\nalso " + more;
    if (metric.row) reading += "\nrow" + rows;
    readings[metric.name] = base::shortHash(reading);
  }
  return readings;
}

constexpr std::string_view kPrepared = "${prepared}/";
constexpr size_t kShownValue = 60;  // columns of a variable's or argument's value in a message

/// "PATH was '…:/opt/bin', now '…:/usr/bin'": of long values only the words, or entries of a path, that differ.
std::string changeOf(const std::string& name, StringRef was, StringRef is) {
  const auto shown = [](StringRef value, StringRef head, StringRef tail) {
    std::string text = value.drop_front(head.size()).drop_back(tail.size()).str();
    std::ranges::replace(text, '\n', ' ');
    return (head.empty() ? "" : "…") + base::elided(text, kShownValue) + (tail.empty() ? "" : "…");
  };
  StringRef head, tail;
  if (std::max(was.size(), is.size()) > kShownValue) {
    const auto is_border = [](char c) { return StringRef(": \n").contains(c); };
    const auto same = std::ranges::mismatch(was, is);
    head = was.take_front(same.in1 - was.begin());
    while (!head.empty() && !is_border(head.back())) head = head.drop_back();
    const StringRef left = was.drop_front(head.size()), now = is.drop_front(head.size());
    const auto alike = std::ranges::mismatch(left | std::views::reverse, now | std::views::reverse);
    tail = left.take_back(alike.in1 - (left | std::views::reverse).begin());
    while (!tail.empty() && !is_border(tail.front())) tail = tail.drop_front();
  }
  return fmt::format("{} was '{}', now '{}'", name, shown(was, head, tail), shown(is, head, tail));
}

/// The arguments of the point's command, with its parameters in place. Values that differ per trial stay as
/// `${seed}`.
std::vector<std::string> argumentsAt(const Point& point, const plan::Command& command,
                                     const std::vector<std::string>& arguments) {
  // The names that differ per trial expand to themselves.
  std::map<std::string, std::string> values;
  const auto differs = [&](const std::string& own) { values[own] = fmt::format("${{{}}}", own); };
  for (const char* own : {"seed", "trial", "trial_folder", "prepared", "steps", "warmup", "epochs", "host", "port"})
    differs(own);
  for (const plan::Service& service : command.services)
    differs(service.name + ".host"), differs(service.name + ".port");
  for (const auto& [name, value] : point.parameters) plan::addArgument(values, name, value);
  // A stored plan may be older than the check of its arguments.
  return expectedToOptional(plan::expandArguments(arguments, values)).value_or(std::vector<std::string>());
}

}  // namespace

void replaceTexts(Value& value, const std::function<std::string(const std::string&)>& replacement) {
  if (const auto text = value.getAsString()) {
    if (std::string other = replacement(text->str()); !other.empty()) value = std::move(other);
  } else if (json::Array* array = value.getAsArray()) {
    for (Value& element : *array) replaceTexts(element, replacement);
  } else if (Object* object = value.getAsObject()) {
    for (auto& member : *object) replaceTexts(member.second, replacement);
  }
}

/// Paths can stand anywhere in a parameter, also in lists and objects.
std::set<std::string> dataPathsOf(const Point& point, const std::vector<std::string>& paths) {
  std::set<std::string> found;
  if (paths.empty()) return found;
  Value parameters = Object(point.parameters);
  replaceTexts(parameters, [&](const std::string& text) {
    if (is_contained(paths, text)) found.insert(text);
    return std::string();
  });
  return found;
}

std::string commandKey(const plan::Workload& workload) { return "command " + workload.name; }

std::string partKey(const std::string& of, const std::string& name) { return of + ": " + name; }

bool isPartKey(const std::string& key) {
  const StringRef of = StringRef(key).split(": ").first;
  return of.size() < key.size() && (of == kVariable || of.starts_with("command "));
}

std::string preparedFolder(const Plan& plan, const Point& point, const std::map<std::string, std::string>& digests) {
  const plan::Workload& workload = plan.workloads[point.workload];
  if (!workload.command || !workload.command->preparation) return "";
  Point told;  // has only the parameters that the preparation is told
  for (const std::string& argument : workload.command->preparation->arguments) {
    const auto names = expectedToOptional(plan::namesIn(argument));
    if (!names) return "";
    for (const std::string& name : *names)
      if (const Value* value = point.parameters.get(name)) told.parameters[name] = *value;
  }
  Object data;
  for (const std::string& path : dataPathsOf(told, plan.data_paths))
    if (const auto* digest = entryOf(digests, path)) data[path] = *digest;
  Object key{{"workload", jsonText(workload.name)},
             {"command", valueIn(digests, commandKey(workload)).value_or("")},
             {"parameters", Object(told.parameters)},
             {"data", std::move(data)}};
  return "prepared/" + base::shortHash(canonicalJson(std::move(key)));
}

std::set<std::string> preparedFilesOf(const Plan& plan, const Point& point,
                                      const std::map<std::string, std::string>& digests) {
  const std::string folder = preparedFolder(plan, point, digests);
  if (folder.empty()) return {};
  const plan::Command& command = *plan.workloads[point.workload].command;
  std::set<std::string> files;
  std::vector<const std::vector<std::string>*> started{&command.arguments, &command.before};
  for (const plan::Service& service : command.services) started.push_back(&service.command.arguments);
  for (const auto* arguments : started)
    for (const std::string& argument : argumentsAt(point, command, *arguments)) {
      const size_t at = argument.find(kPrepared);
      if (at == std::string::npos) continue;
      const std::string file = argument.substr(at + kPrepared.size());
      const std::string path = std::filesystem::path(folder + "/" + file).lexically_normal().string();
      // A path that contains ${…} differs per trial, so it is not a shared file. A path that leaves the folder is
      // not prepared.
      if (file.find("${") == std::string::npos && StringRef(path).starts_with(folder + "/")) files.insert(path);
    }
  return files;
}

std::vector<std::string> startedWith(const Plan& plan, const Point& point) {
  const plan::Workload& workload = plan.workloads[point.workload];
  std::vector<std::string> texts;
  const auto say = [&](const std::string& name, const Value& value) {
    texts.push_back(fmt::format("{}={}", name, plan::argumentText(value)));
  };
  if (!workload.command) {
    texts.push_back(fmt::format("{} version {}", workload.name, workload.version));
    for (const auto& [name, value] : point.parameters) say(name.str(), value);
    std::sort(texts.begin() + 1, texts.end());  // a JSON object has no order
    return texts;
  }
  const auto add = [&](const std::vector<std::string>& arguments) {
    std::ranges::move(argumentsAt(point, *workload.command, arguments), std::back_inserter(texts));
  };
  // Lists in the order of the command line; "prepare" and "before" separate the lists, so that moving an argument
  // from one to the other is a difference.
  add(workload.command->arguments);
  if (workload.command->preparation) texts.emplace_back("prepare"), add(workload.command->preparation->arguments);
  if (!workload.command->before.empty()) texts.emplace_back("before"), add(workload.command->before);
  for (const plan::Service& service : workload.command->services)
    texts.push_back("service " + service.name), add(service.command.arguments);
  for (const unsigned code : workload.command->exit_codes) say("exit", code);
  if (workload.command->ranks) texts.emplace_back("ranks gpus");
  // A program that asks for its trial is told every parameter. A JSON object has no order.
  const auto first = std::ptrdiff_t(texts.size());
  if (plan::asksTrial(*workload.command))
    for (const auto& [name, value] : point.parameters) say("trial " + name.str(), value);
  std::sort(texts.begin() + first, texts.end());
  for (const char* devices : {"gpus", "nodes"})
    if (const Value* value = point.parameters.get(devices)) say(devices, *value);
  return texts;
}

std::string changes(const std::map<std::string, std::string>& then, const std::map<std::string, std::string>& now,
                    bool values) {
  std::vector<std::string> texts;
  const auto about = [&](const std::string& value) {
    return values ? fmt::format(" ('{}')", base::elided(value, kShownValue)) : "";
  };
  for (const auto& [name, value] : then) {
    const std::string* found = entryOf(now, name);
    if (!found)
      texts.push_back(fmt::format("{} is gone{}", name, about(value)));
    else if (*found != value)
      texts.push_back(values ? changeOf(name, value, *found) : fmt::format("{} has changed", name));
  }
  for (const auto& [name, value] : now)
    if (!then.contains(name)) texts.push_back(fmt::format("{} is new{}", name, about(value)));
  return llvm::join(texts, ", ");
}

std::string otherPoint(const Plan& then, const Point& was, const Plan& now, const Point* is) {
  using Names = std::map<std::string, std::string>;
  const auto factors = [](const Plan& plan) {
    Names names;
    for (const plan::Factor& factor : plan.factors) names["factor " + factor.name];
    return names;
  };
  // The parts of a point and its workload that make its id.
  const auto parts = [](const Plan& plan, const Point& point) {
    const plan::Workload& workload = plan.workloads[point.workload];
    Names of{{"version", std::to_string(workload.version)}};
    if (!workload.command) of["workload"] = workload.name;
    for (const auto& [name, value] : point.parameters) of[name.str()] = plan::argumentText(value);
    if (!workload.command) return of;
    for (size_t i = 0; i < workload.command->arguments.size(); ++i)
      of[fmt::format("argument {}", i + 1)] = workload.command->arguments[i];
    for (const plan::Service& service : workload.command->services)
      of["service " + service.name] = llvm::join(service.command.arguments, " ");
    return of;
  };
  if (const Names had = factors(then), has = factors(now); had != has) return changes(had, has, false);
  return is ? changes(parts(then, was), parts(now, *is), true) : "";
}

std::string settingsText(const Plan& plan, TrialKind kind) {
  const KindDesign* design = plan::designOf(plan, kind);
  return design ? canonicalJson(Value(Object(design->settings))) : "{}";
}

TrialKey keyOf(const Plan& plan, const Place& place, TrialKind kind, const Match& match) {
  const Point& point = *plan.findPoint(place.point);
  const plan::Workload& workload = plan.workloads[point.workload];
  TrialKey key;
  key.place = place;
  key.kind = kind;
  key.settings = settingsText(plan, kind);
  key.data = dataOf(plan, point, match.data_digests);
  if (workload.command) key.readings = readingsOf(plan, *workload.command, kind);
  if (const std::optional<Worker>& worker = match.workerOf(workload)) {
    key.worker_build = worker->build;
    key.environment_class = worker->environment_class;
  }
  return key;
}

RunClaimsPtr claimsOf(const Plan& plan) {
  RunClaims judged;
  for (const KindDesign& design : plan.design.kinds)
    judged.planned[design.kind] = {design.repeat, design.looks, !design.until.empty()};
  for (const Criterion& criterion : plan.criteria) {
    // A claim without a confidence is about the trials themselves, and an infeasible one about no data: neither
    // spends alpha.
    for (const plan::Cell& cell : criterion.cells)
      if (plan::isEstimated(criterion, cell)) judged.subjects.insert(plan::subjectOf(plan, cell));
  }
  return std::make_shared<const RunClaims>(std::move(judged));
}

/// Keys are made once per kind and point: a store has many trials of each.
const TrialKey& Counting::wanted(const TrialKey& key) const {
  const auto [found, fresh] = wanted_.try_emplace({key.kind, key.place.point});
  if (fresh) found->second = keyOf(plan_, key.place.point, key.kind, match_);
  return found->second;
}

std::string Counting::objection(const TrialKey& key, const Match* then) const {
  if (!plan::designOf(plan_, key.kind)) return fmt::format("the plan has no {} trials", plan::toString(key.kind));
  const TrialKey& now = wanted(key);
  // The first difference is the reason that the user sees.
  if (key.settings != now.settings)
    return fmt::format("measured with other settings of {} trials: {}", plan::toString(key.kind), key.settings);
  if (key.worker_build != now.worker_build) return "measured by another worker build";
  // Looked for only where something differs.
  const auto point = [&]() -> const Point& { return *plan_.findPoint(key.place.point); };
  const auto is_command = [&](const Point& of) { return plan_.workloads[of.workload].command.has_value(); };
  if (key.environment_class != now.environment_class)
    return fmt::format(
        "measured in a different environment (devices, driver, libraries, CPU model, or the variables that commands "
        "get){}",
        then && is_command(point()) ? partChanges(kVariable, *then, match_, true) : "");
  // Readings of metrics that the plan does not ask for do not matter, so those of the key need only include the
  // wanted ones.
  if (key.data == now.data && !std::ranges::includes(key.readings, now.readings))
    return "the study now reads a metric or an expectation differently (`expc extract` re-reads stored output)";
  if (key.data != now.data) {
    const Point& of = point();
    std::string why =
        is_command(of) ? "measured with another program, other inputs or data" : "the data files have changed since";
    if (!then) return why;
    if (is_command(of)) why += partChanges(commandKey(plan_.workloads[of.workload]), *then, match_, false);
    // Name the files whose digests differ, as far as the earlier run recorded them.
    std::set<std::string> paths = dataPathsOf(of, plan_.data_paths);
    paths.merge(preparedFilesOf(plan_, of, match_.data_digests));
    for (const std::string& path : paths) {
      const auto digestIn = [&](const Match& match) { return valueIn(match.data_digests, path).value_or(""); };
      const std::string was = digestIn(*then), is = digestIn(match_);
      if (is.empty()) continue;
      if (was.empty())
        why += fmt::format(", {} was not recorded", path);
      else if (was != is)
        why += fmt::format(", {} has changed", path);
    }
    return why;
  }
  // A plan without the control must not count its trials as the point's own.
  const bool known =
      key.place.control.empty() || std::ranges::any_of(plan_.controls, [&](const plan::Control& control) {
        const Point* of = plan_.findPoint(control.point);
        return control.name == key.place.control && of && plan_.startedFor(*of).id == key.place.point;
      });
  if (!known) return fmt::format("belongs to the control {}, which the plan does not have", key.place.control);
  return "";
}

std::string Counting::objection(const Trial& trial) const {
  if (trial.status != TrialStatus::Valid) return "";
  // A series counts as held; a derived metric is computed from others, so a trial has none.
  for (const Metric& metric : plan_.metrics) {
    if (metric.kind != trial.key->kind || metric.derived) continue;
    if (!trial.tellsOf(metric.name)) return fmt::format("the metric {} was not measured", metric.name);
  }
  return "";
}

}  // namespace expc::store
