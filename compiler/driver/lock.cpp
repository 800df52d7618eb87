#include "compiler/driver/lock.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "compiler/lower/prepared.h"
#include "runtime/engine/command_files.h"
#include "runtime/engine/data.h"
#include "runtime/plan/json.h"

namespace expc::driver {
namespace {

constexpr llvm::StringLiteral kSchema = "expc.lock/1";

llvm::json::Object factorsOf(const plan::Plan& head) {
  llvm::json::Object factors;
  for (const plan::Factor& factor : head.factors) {
    std::string text = "{ " + fmt::format("{}", fmt::join(factor.declared, ", ")) + " }";
    if (factor.baseline) text += " baseline " + factor.levels[*factor.baseline].label;
    factors[factor.name] = text;
  }
  return factors;
}

llvm::json::Object rulesOf(const check::Study& study) {
  llvm::json::Object rules;
  for (const check::Rule& rule : study.rules) {
    const std::string text = (rule.kind == ast::RuleKind::Require ? "require " : "exclude ") + rule.text;
    rules[text] = rule.because;
  }
  return rules;
}

/// What is fixed: by use, the values of arguments, defaults left out.
llvm::json::Object argumentsOf(const check::Study& study) {
  llvm::json::Object arguments;
  for (const check::Use& use : study.uses)
    for (size_t i = 0; i < use.arguments.size(); ++i)
      if (use.argument_ranges[i].isValid() && use.arguments[i])
        arguments[(use.label.empty() ? "" : use.label + ".") + study.workload->parameters[i].name] =
            use.arguments[i]->toString();
  return arguments;
}

llvm::json::Object workloadsOf(const check::Study& study) {
  llvm::json::Object workloads;
  for (const check::Use& use : study.uses) workloads[use.workload->name] = use.workload->version;
  return workloads;
}

llvm::Error noTick() { return llvm::Error::success(); }

/// Digests of what commands read, by workload; null where something is missing on this machine.
llvm::json::Object inputsOf(const plan::Plan& head) {
  llvm::json::Object inputs;
  for (unsigned i = 0; i < head.workloads.size(); ++i) {
    const plan::Workload& workload = head.workloads[i];
    if (!workload.command || (workload.command->inputs.empty() && workload.command->copied.empty())) continue;
    auto digest = engine::digestInputs(head, i, noTick);
    if (digest)
      inputs[workload.name] = *digest;
    else
      inputs[workload.name] = nullptr;
    llvm::consumeError(digest.takeError());
  }
  return inputs;
}

/// Digests of what points read; null where it is not on this machine.
llvm::Expected<llvm::json::Object> dataOf(const plan::Plan& head) {
  llvm::json::Object data;
  for (const std::string& path : head.data_paths) {
    plan::Plan one;
    one.root = head.root;
    one.data_paths = {path};
    if (llvm::Error missing = engine::checkDataExists(one)) {
      llvm::consumeError(std::move(missing));
      data[path] = nullptr;
      continue;
    }
    auto digests = engine::digestData(one, noTick);
    if (!digests) return digests.takeError();
    data[path] = digests->begin()->second;
  }
  return data;
}

template <typename Items>
llvm::json::Object textsOf(const Items& items) {
  llvm::json::Object texts;
  for (const auto& item : items) texts[item.name] = item.text;
  return texts;
}

llvm::Expected<llvm::json::Object> lockOf(lower::Prepared& prepared, bool with_data) {
  const plan::Plan& head = prepared.outline().head;
  llvm::json::Object data;
  if (with_data) {
    auto found = dataOf(head);
    if (!found) return found.takeError();
    data = std::move(*found);
  }
  llvm::json::Object points;
  prepared.space().forEach([&](expand::Levels point) {
    points[expand::labelOf(prepared.study(), point)] = std::string(prepared.writer().id(point));
    return true;
  });
  const llvm::json::Value whole = plan::toJson(head);
  const llvm::json::Value* design = whole.getAsObject()->get("design");
  return llvm::json::Object{{"digest", head.digest},
                            {"workloads", workloadsOf(prepared.study())},
                            {"arguments", argumentsOf(prepared.study())},
                            {"factors", factorsOf(head)},
                            {"rules", rulesOf(prepared.study())},
                            {"comparisons", textsOf(head.comparisons)},
                            {"criteria", textsOf(head.criteria)},
                            {"design", design ? *design : llvm::json::Value(nullptr)},
                            {"inputs", inputsOf(head)},
                            {"data", std::move(data)},
                            {"points", std::move(points)}};
}

// ---- comparing

std::string shown(const llvm::json::Value& value) {
  if (auto text = value.getAsString()) return text->str();
  return plan::canonicalJson(value);
}

class Comparer {
 public:
  explicit Comparer(size_t most) : most_(most) {}
  std::vector<std::string> lines;

  void section(std::string_view study, llvm::StringRef name, std::string_view what, const llvm::json::Object& before,
               const llvm::json::Object& after) {
    static const llvm::json::Object kNone;
    const llvm::json::Object* left = before.getObject(name);
    const llvm::json::Object* right = after.getObject(name);
    left = left ? left : &kNone;
    right = right ? right : &kNone;
    // A lock without data is one that a run compares; it looks at the data itself.
    if (name == "data" && right->empty()) return;
    // A point is what it means: one that only goes by another name is neither new nor gone.
    const std::set<std::string> kept = name == "points" ? renamed(study, *left, *right) : std::set<std::string>();
    const auto known = [&](const llvm::json::Value& value) {
      return kept.contains(value.getAsString().value_or("").str());
    };
    list(study, what, "added", *right,
         [&](const auto& key, const auto& value) { return !left->get(key) && !known(value); });
    list(study, what, "removed", *left,
         [&](const auto& key, const auto& value) { return !right->get(key) && !known(value); });
    list(
        study, what, "changed", *right,
        [&](const auto& key, const auto& value) {
          const llvm::json::Value* old = left->get(key);
          // Data that was not there when the lock was written holds a run to nothing.
          if ((name == "data" || name == "inputs") && old &&
              (old->kind() == llvm::json::Value::Null || value.kind() == llvm::json::Value::Null))
            return false;
          return old && *old != value;
        },
        left);
  }

 private:
  /// The ids that stand on both sides under different names; says how many there are.
  std::set<std::string> renamed(std::string_view study, const llvm::json::Object& left,
                                const llvm::json::Object& right) {
    std::map<std::string, std::string> before;
    for (const auto& [key, id] : left)
      if (!right.get(key)) before.emplace(id.getAsString().value_or("").str(), key.str());
    std::map<std::string, std::pair<std::string, std::string>> found;  // by the new name
    for (const auto& [key, id] : right)
      if (auto old = before.find(id.getAsString().value_or("").str()); old != before.end() && !left.get(key))
        found.emplace(key.str(), *old);
    std::set<std::string> ids;
    for (const auto& [key, old] : found) ids.insert(old.first);
    if (!found.empty())
      lines.push_back(fmt::format("{}: {} point{} the same under another name: {} is now {}", study, found.size(),
                                  found.size() == 1 ? " is" : "s are", found.begin()->second.second,
                                  found.begin()->first));
    return ids;
  }

  template <typename Wanted>
  void list(std::string_view study, std::string_view what, std::string_view how, const llvm::json::Object& items,
            const Wanted& wanted, const llvm::json::Object* before = nullptr) {
    std::vector<const llvm::json::Object::value_type*> found;
    for (const auto& item : items)
      if (wanted(item.first, item.second)) found.push_back(&item);
    std::sort(found.begin(), found.end(), [](auto* a, auto* b) { return a->first.str() < b->first.str(); });
    for (size_t i = 0; i < found.size() && i < most_; ++i) {
      std::string text = fmt::format("{}: {} {} {}", study, what, found[i]->first.str(), how);
      if (before) text += fmt::format(": {} -> {}", shown(*before->get(found[i]->first)), shown(found[i]->second));
      lines.push_back(std::move(text));
    }
    if (found.size() > most_)
      lines.push_back(fmt::format("{}: {} more {}s {}", study, found.size() - most_, what, how));
  }

  size_t most_;
};

}  // namespace

std::string lockPath(const std::string& study_file) { return study_file + ".lock"; }

llvm::Expected<llvm::json::Value> makeLock(const check::Program& program, bool data, diag::Emitter& emitter) {
  llvm::json::Object studies;
  for (const auto& study : program.studies) {
    const lower::Selection whole{study->name, {}, {}};
    auto prepared = lower::Prepared::of(program, *study, whole, nullptr, emitter);
    if (!prepared) return llvm::createStringError("the study has errors");
    auto lock = lockOf(*prepared, data);
    if (!lock) return lock.takeError();
    studies[study->name] = std::move(*lock);
  }
  return llvm::json::Object{{"schema", kSchema}, {"studies", std::move(studies)}};
}

llvm::Error writeLock(const std::string& path, const llvm::json::Value& lock) {
  return llvm::writeToOutput(path, [&](llvm::raw_ostream& out) {
    out << plan::prettyJson(lock) << "\n";
    return llvm::Error::success();
  });
}

llvm::Expected<llvm::json::Value> readLock(const std::string& path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  if (!buffer) return llvm::createStringError(fmt::format("cannot read {}: {}", path, buffer.getError().message()));
  llvm::Expected<llvm::json::Value> json = llvm::json::parse((*buffer)->getBuffer());
  if (!json) return llvm::createStringError(fmt::format("{} is no lock: {}", path, llvm::toString(json.takeError())));
  const llvm::json::Object* object = json->getAsObject();
  if (!object || object->getString("schema") != kSchema || !object->getObject("studies"))
    return llvm::createStringError(
        fmt::format("{} is no lock of this version ({}); write it anew with `expc plan --lock`", path, kSchema.str()));
  return std::move(*json);
}

std::map<std::string, std::string> lockedData(const llvm::json::Value& lock, const std::string& study) {
  std::map<std::string, std::string> digests;
  const llvm::json::Object* found = lock.getAsObject()->getObject("studies")->getObject(study);
  const llvm::json::Object* data = found ? found->getObject("data") : nullptr;
  if (!data) return digests;
  for (const auto& [path, digest] : *data)
    if (auto text = digest.getAsString()) digests[path.str()] = text->str();
  return digests;
}

std::vector<std::string> compareLocks(const llvm::json::Value& before, const llvm::json::Value& after, size_t most,
                                      const std::optional<std::string>& only) {
  const llvm::json::Object& left = *before.getAsObject()->getObject("studies");
  const llvm::json::Object& right = *after.getAsObject()->getObject("studies");
  Comparer comparer(most);
  std::vector<std::string> names;
  for (const auto& [name, study] : left) names.push_back(name.str());
  for (const auto& [name, study] : right)
    if (!left.get(name)) names.push_back(name.str());
  std::sort(names.begin(), names.end());
  static constexpr std::pair<const char*, const char*> kSections[] = {{"workloads", "workload"},
                                                                      {"arguments", "argument"},
                                                                      {"factors", "factor"},
                                                                      {"rules", "rule"},
                                                                      {"comparisons", "comparison"},
                                                                      {"criteria", "criterion"},
                                                                      {"inputs", "inputs of"},
                                                                      {"data", "data"},
                                                                      {"points", "point"}};
  for (const std::string& name : names) {
    if (only && name != *only) continue;
    const llvm::json::Object *old = left.getObject(name), *now = right.getObject(name);
    if (!old || !now) {
      comparer.lines.push_back(fmt::format("study {} {}", name, old ? "removed" : "added"));
      continue;
    }
    const size_t count = comparer.lines.size();
    for (const auto& [section, what] : kSections) comparer.section(name, section, what, *old, *now);
    if (const auto *a = old->get("design"), *b = now->get("design"); a && b && *a != *b)
      comparer.lines.push_back(fmt::format("{}: design changed: {} -> {}", name, shown(*a), shown(*b)));
    // Whatever none of the sections holds.
    if (comparer.lines.size() == count && old->get("digest") && now->get("digest") &&
        *old->get("digest") != *now->get("digest"))
      comparer.lines.push_back(fmt::format("{}: its meaning changed (digest {} -> {})", name,
                                           shown(*old->get("digest")), shown(*now->get("digest"))));
  }
  return std::move(comparer.lines);
}

}  // namespace expc::driver
