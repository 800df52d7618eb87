// Locks of studies: makes one from the compiled study, reads and writes it, and compares two. Entries of a lock have
// the form {"meaning": digest, "text": source}. Only meanings are compared, so formatting never counts as a change;
// texts are shown. Digests of meanings come from the plan (lower::outlineOf), so a lock and a stored result agree about
// when two studies are the same.

#include "cli/lock.h"

#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <map>

#include "compiler/lower/lower.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/engine/inputs/command_files.h"
#include "runtime/engine/inputs/data.h"

namespace expc::cli {

using json::Object;
using json::Value;
namespace {

constexpr llvm::StringLiteral kSchema = "expc.lock/3";

/// The sections of a lock that list declarations, and the word for one of them.
constexpr std::pair<llvm::StringLiteral, const char*> kDeclared[] = {
    {"workloads", "workload"},     {"factors", "factor"},     {"metrics", "metric"},
    {"comparisons", "comparison"}, {"criteria", "criterion"}, {"references", "reference"}};

/// Returns an entry of a lock: the meaning, which is compared, and the text, which is only shown because formatting
/// changes it.
Object entry(std::string meaning, const std::string& text) {
  return Object{{"meaning", std::move(meaning)}, {"text", jsonText(text)}};
}

template <typename Declared>
/// The text of a declaration; sorts without one of their own are shown by name only.
std::string textOf(const Declared& declared) {
  if constexpr (requires { declared.text; }) return declared.text;
  return "";
}
std::string textOf(const plan::Factor& factor) {
  const std::string text = fmt::format("{{ {} }}", fmt::join(factor.declared, ", "));
  return factor.baseline ? text + " baseline " + factor.levels[*factor.baseline].label : text;
}

/// Returns the declarations of one section by label or name, each as the digest of its meaning. `meanings` is in the
/// order of `declared`.
template <typename Declared>
Object sectionOf(const Value& meanings, const std::vector<Declared>& declared) {
  Object section;
  for (size_t i = 0; i < declared.size(); ++i) {
    const Value& meaning = (*meanings.getAsArray())[i];
    // A workload has a label if the study gives it one, and is then called so.
    const StringRef label = meaning.getAsObject()->getString("label").value_or("");
    section[(label.empty() ? *meaning.getAsObject()->getString("name") : label).str()] =
        entry(base::shortHash(canonicalJson(meaning)), textOf(declared[i]));
  }
  return section;
}

/// Returns the rules by name. A rule without a name, or with one that is taken, is listed under its text.
Object rulesOf(const check::Study& study) {
  Object rules;
  for (const check::Rule& rule : study.rules) {
    const std::string text = (rule.kind == ast::RuleKind::Require ? "require " : "exclude ") + rule.text;
    const std::string meaning = jsonText(lower::withoutBlanks(text)).getAsString()->str();
    rules[rule.name.empty() || rules.get(rule.name) ? meaning : rule.name] = entry(meaning, text);
  }
  return rules;
}

/// Returns what the study expects, by the name of what it is expected of.
Object expectedOf(const check::Study& study) {
  Object expected;
  for (const check::Expectation& one : study.expected)
    expected[one.name] = entry(fmt::format("{} {}", one.value, one.noise.value_or(0)), one.text);
  return expected;
}

/// Returns the arguments of each use that are no factor: those given by the study, or with `defaults` those that come
/// from the workload's declaration.
Object argumentsOf(const check::Study& study, bool defaults) {
  Object arguments;
  for (const check::Use& use : study.uses)
    for (const auto& [i, value] : llvm::enumerate(use.arguments)) {
      const int factor = study.factor_of[i];
      // A default that a factor replaces everywhere does not count.
      const bool varies = factor >= 0 && !study.factors[factor].active;
      if (!value || (value == use.workload->parameters[use.parameter_of[i]].fallback) != defaults) continue;
      if (defaults && varies) continue;
      const std::string owner = use.label.empty() ? "" : use.label + ".";
      arguments[owner + study.parameter(i).name] = jsonText(value->toString());
    }
  return arguments;
}

/// Returns the number of points, a digest of their ids, and how many there are of each level. This is as small for
/// millions of points as for ten, and still names which level gained or lost points.
Object pointsOf(const points::Prepared& prepared, const Object& meaning) {
  Object levels;
  const check::Study& study = prepared.study();
  for (unsigned i = 0; i < study.factors.size(); ++i)
    for (unsigned level = 0; level < study.factors[i].levels.size(); ++level) {
      std::vector<std::string> values;
      for (const check::Value& value : study.factors[i].levels[level].values) values.push_back(value.toString());
      const Value name = jsonText(fmt::format("{}={}", study.factors[i].name, fmt::join(values, ", ")));
      levels[name.getAsString()->str()] = prepared.survey->seen.count(i, level);
    }
  return Object{{"count", prepared.survey->points},
                {"ids", base::shortHash(canonicalJson(*meaning.get("points")))},
                {"levels", std::move(levels)}};
}

/// Progress is not shown while a lock is made.
Error noTick() { return Error::success(); }

/// Returns the digests of files that commands read, by workload; null if something is missing on this machine.
Object inputsOf(const Plan& head) {
  Object inputs;
  for (const auto& [i, workload] : llvm::enumerate(head.workloads)) {
    if (!workload.command || (workload.command->inputs.empty() && workload.command->copied.empty())) continue;
    const auto digest = expectedToOptional(engine::inputs::digestInputs(head, i, noTick));
    inputs[workload.name] = digest ? Value(*digest) : Value(nullptr);
  }
  return inputs;
}

/// Returns the digests of data that points read, by path; null if it is not on this machine.
Expected<Object> dataOf(const Plan& head) {
  Object data;
  for (const std::string& path : head.data_paths) {
    // Each path is digested by itself, so that one missing path does not hide the others.
    Plan one;
    one.root = head.root;
    one.data_paths = {path};
    // Data may lie on the machine that measures only; a lock without its digest is still of use.
    if (llvm::errorToBool(engine::inputs::checkDataExists(one))) {
      data[path] = nullptr;
      continue;
    }
    const auto digests = TRY(engine::inputs::digestData(one, noTick));
    data[path] = digests.begin()->second;
  }
  return data;
}

/// Returns the lock of one study; without `with_data` its section of data is empty.
Expected<Object> lockOf(const points::Prepared& prepared, bool with_data) {
  const lower::Outline outline = lower::outlineOf(prepared);
  const Plan& head = outline.head;
  const Object& meaning = outline.meaning;
  Object data;
  if (with_data) data = TRY(dataOf(head));
  const check::Study& study = prepared.study();
  Object lock{
      {"digest", head.digest},   {"arguments", argumentsOf(study, false)}, {"defaults", argumentsOf(study, true)},
      {"rules", rulesOf(study)}, {"design", *meaning.get("design")},       {"inputs", inputsOf(head)},
      {"data", std::move(data)}, {"points", pointsOf(prepared, meaning)}};
  const auto add = [&](StringRef section, const auto& declared) {
    lock[section] = sectionOf(*meaning.get(section), declared);
  };
  add("workloads", head.workloads);
  add("factors", head.factors);
  add("metrics", head.metrics);
  add("comparisons", head.comparisons);
  add("criteria", head.criteria);
  add("references", head.references);
  if (!study.expected.empty()) lock["expected"] = expectedOf(study);
  return lock;
}

// ---- comparing

/// The meaning of an entry; a value that is no entry, such as a digest, is its own meaning.
Value meaningOf(const Value& value) {
  const Object* object = value.getAsObject();
  const Value* meaning = object ? object->get("meaning") : nullptr;
  return meaning ? *meaning : value;
}

/// The text of an entry or value for messages.
std::string shown(const Value& value) {
  if (const Object* object = value.getAsObject(); object && object->get("text"))
    return object->getString("text").value_or("").str();
  return value.getAsString() ? value.getAsString()->str() : canonicalJson(value);
}

/// Collects the changes from one lock of a study to another, at most `most` lines of a kind.
class Comparer {
 public:
  explicit Comparer(size_t most) : most_(most) {}
  std::vector<std::string> lines;

  /// Adds the changes of one study.
  void study(const std::string& name, const Object& before, const Object& after) {
    study_ = name;
    const size_t count = lines.size();
    const auto *old_digest = before.get("digest"), *digest = after.get("digest");
    const bool means_the_same = old_digest && digest && *old_digest == *digest;
    const auto section = [&](const char* what, StringRef name, bool whole = true) {
      list(what, members(before, name), members(after, name), whole);
    };
    for (const auto& [name, what] : kDeclared) section(what, name);
    section("argument", "arguments");
    section("what is expected of", "expected");
    // Defaults are compared only where both locks have them: a parameter that another version of a module adds or drops
    // leaves the points as they are.
    section("default of", "defaults", false);
    // Rules are listed only if the study means something else: their texts then say why. Rewriting a rule without an
    // effect is no change.
    if (!means_the_same) section("rule", "rules");
    section("inputs of", "inputs", false);
    section("data", "data", false);
    points(members(before, "points"), members(after, "points"));
    if (const auto *a = before.get("design"), *b = after.get("design"); a && b && *a != *b)
      say("design changed: {} -> {}", shown(*a), shown(*b));
    // A changed digest that no section explains is still reported.
    if (old_digest && digest && lines.size() == count && !means_the_same)
      say("its meaning changed (digest {} -> {})", shown(*old_digest), shown(*digest));
  }

 private:
  template <typename... Arguments>
  void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    lines.push_back(base::printable(study_ + ": " + fmt::format(format, std::forward<Arguments>(arguments)...)));
  }

  /// Returns a section; an empty one if it is missing, as in a lock from a stranger.
  static const Object& members(const Object& of, StringRef name) {
    static const Object kNone;
    const Object* found = of.getObject(name);
    return found ? *found : kNone;
  }

  /// Adds changes of points. Equal counts can hide different points, so ids are compared; then levels whose counts
  /// changed are listed.
  void points(const Object& before, const Object& after) {
    const Value *left = before.get("ids"), *right = after.get("ids");
    if (!left || !right || *left == *right) return;
    say("points changed: {} -> {}", before.getInteger("count").value_or(0), after.getInteger("count").value_or(0));
    list("points with", members(before, "levels"), members(after, "levels"), true);
  }

  /// Adds the differences of one section. If it is not the `whole` of what there is (data, inputs, defaults), an entry
  /// that is missing or null on one side is no change: that side does not know it.
  void list(std::string_view what, const Object& before, const Object& after, bool whole) {
    std::vector<std::string> added, removed, changed;
    for (const auto& [key, value] : after) {
      const Value* old = before.get(key);
      if (!old && whole) added.push_back(named(what, key, value) + " added");
      if (old && (whole || (!old->getAsNull() && !value.getAsNull())) && meaningOf(*old) != meaningOf(value))
        changed.push_back(named(what, key, Value(nullptr)) + " changed" + from(shown(*old), shown(value)));
    }
    for (const auto& [key, value] : before)
      if (whole && !after.get(key)) removed.push_back(named(what, key, value) + " removed");
    for (auto* sort : {&added, &removed, &changed}) {
      std::sort(sort->begin(), sort->end());
      for (size_t i = 0; i < sort->size() && i < most_; ++i) say("{}", (*sort)[i]);
      if (sort->size() > most_) say("{} more like the last one", sort->size() - most_);
    }
  }

  /// Names an entry: by its key, or by its text if the key is only its meaning.
  static std::string named(std::string_view what, StringRef key, const Value& value) {
    const Object* object = value.getAsObject();
    const bool nameless = object && object->getString("meaning") == key;
    return fmt::format("{} {}", what, nameless ? shown(value) : key.str());
  }

  /// Returns ": before -> after", or "" if the texts do not show the difference.
  static std::string from(const std::string& before, const std::string& after) {
    return before == after ? "" : fmt::format(": {} -> {}", before, after);
  }

  size_t most_;
  std::string study_;
};

}  // namespace

std::string lockPath(const std::string& study_file) { return study_file + ".lock"; }

Expected<Value> makeLock(const check::Program& program, bool data, diag::Emitter& emitter) {
  Object studies;
  for (const auto& study : program.studies) {
    // Without presets and -D: a lock holds the study as it is written.
    const expand::Selection whole{study->name, {}, {}};
    auto prepared = points::Prepared::of(program, *study, whole, nullptr, emitter);
    if (!prepared) return failure("the study has errors");
    studies[study->name] = TRY(lockOf(*prepared, data));
  }
  return Object{{"schema", kSchema}, {"studies", std::move(studies)}};
}

Error writeLock(const std::string& path, const Value& lock) {
  return files::write(path, base::prettyJson(lock) + "\n");
}

Expected<Value> readLock(const std::string& path) {
  auto buffer = files::read(path, files::kMostByHand);
  if (!buffer) return failure("cannot read {}", buffer.takeError());
  auto lock = parseLock((*buffer)->getBuffer());
  if (!lock) return failure("{} {}", path, lock.takeError());
  return lock;
}

Expected<Value> parseLock(std::string_view text) {
  auto json = parseJson(text);
  if (!json) return failure("is not a lock: {}", json.takeError());
  const Object* object = json->getAsObject();
  const Object* studies = object ? object->getObject("studies") : nullptr;
  const bool whole = studies && object->getString("schema") == kSchema &&
                     std::all_of(studies->begin(), studies->end(),
                                 [](const auto& study) { return study.second.getAsObject() != nullptr; });
  if (whole) return std::move(*json);
  return failure("is a lock of another version ({}); write a new one with `expc plan --lock`", kSchema.str());
}

std::map<std::string, std::string> lockedData(const Value& lock, const std::string& study) {
  std::map<std::string, std::string> digests;
  const Object* found = lock.getAsObject()->getObject("studies")->getObject(study);
  const Object* data = found ? found->getObject("data") : nullptr;
  if (!data) return digests;
  for (const auto& [path, digest] : *data)
    if (auto text = digest.getAsString()) digests[path.str()] = text->str();
  return digests;
}

std::vector<std::string> compareLocks(const Value& before, const Value& after, size_t most,
                                      const std::optional<std::string>& only) {
  const Object& left = *before.getAsObject()->getObject("studies");
  const Object& right = *after.getAsObject()->getObject("studies");
  Comparer comparer(most);
  std::vector<std::string> names;
  for (const auto& [name, study] : left) names.push_back(name.str());
  for (const auto& [name, study] : right)
    if (!left.get(name)) names.push_back(name.str());
  std::ranges::sort(names);
  for (const std::string& name : names) {
    if (only && name != *only) continue;
    const Object *old = left.getObject(name), *now = right.getObject(name);
    if (!old || !now) {
      comparer.lines.push_back(fmt::format("study {} {}", name, old ? "removed" : "added"));
      continue;
    }
    comparer.study(name, *old, *now);
  }
  return std::move(comparer.lines);
}

}  // namespace expc::cli
