// Canonical JSON has its keys sorted and no blanks, so a point's text is: a prefix of its workload, the members
// of its parameters sorted by name, a suffix. `compile` prepares these pieces once for each workload.

#include "compiler/points/point_writer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "runtime/base/find.h"
#include "runtime/base/hash.h"
#include "runtime/base/json.h"
#include "runtime/plan/plan.h"

namespace expc::points {

using json::Array;
using json::Object;
namespace {

/// Values as an array.
Array writeAll(const std::vector<check::Value>& values, bool exact) {
  Array array;
  for (const check::Value& value : values) array.push_back(toJson(value, exact));
  return array;
}

/// The part of a point's document that identifies its workload.
Object identity(const check::Workload& workload) {
  if (workload.command) {
    Object identity{{"command", argumentsJson(workload.command->written)}, {"version", workload.version}};
    Array inside, services;
    for (const plan::CommandMetric& key : workload.command->inside) inside.push_back(jsonText(key.name));
    for (const auto& written : workload.command->written_services) services.push_back(argumentsJson(written));
    // A process that goes through levels measures something else than one with a single level. Points of other
    // workloads keep the ids that they had before there were any of these.
    if (!inside.empty()) identity["inside"] = std::move(inside);
    if (!services.empty()) identity["services"] = std::move(services);
    return identity;
  }
  return Object{{"workload", workload.name}, {"version", workload.version}};
}

/// Whether a value equals the workload's own default. Such parameters are left out of ids, so that a new
/// parameter with a default does not change the ids of old points.
bool isDefault(const check::Use& use, unsigned parameter, const check::Value& value) {
  const auto& fallback = use.workload->parameters[use.parameter_of[parameter]].fallback;
  return fallback && *fallback == value;
}

/// `"name":value`
std::string member(const std::string& name, const json::Value& value) {
  return canonicalJson(name) + ":" + canonicalJson(value);
}

/// The value of a computed argument; nothing where it has none, which Space::compile has reported.
std::optional<json::Value> valueOf(const check::Computed& computed, const expand::Assignment& resolved) {
  const check::Outcome outcome = resolved.evaluate(*computed.value, expand::View::Workload);
  const auto* value = std::get_if<check::Value>(&outcome);
  return value ? std::optional(toJson(*value)) : std::nullopt;
}

/// Adds a member to an object, with a comma behind earlier ones; an empty text adds nothing.
void append(std::string& to, const std::string& text) {
  if (!to.empty() && to.back() != '{' && !text.empty()) to += ',';
  to += text;
}

/// The text of a level; the last entry stands for a factor without a level.
const std::string& textAt(const std::vector<std::string>& texts, unsigned level) {
  return level < expand::kOpen ? texts[level] : texts.back();
}

}  // namespace

json::Value toJson(const check::Value& value, bool exact) {
  if (auto* flag = std::get_if<bool>(&value.node)) return *flag;
  if (const check::Rational* number = value.asNumber()) {
    // Ids are hashes of text, and decimal text is exact; parameters are read by programs, as numbers.
    if (exact) return number->toString();
    if (number->isInteger()) return number->numerator();
    return number->toDouble();
  }
  if (auto* text = std::get_if<std::string>(&value.node)) return jsonText(*text);
  if (auto* composite = std::get_if<check::CompositeValue>(&value.node)) {
    // Records are objects, whose canonical text sorts the fields.
    if (composite->kind != check::Type::Kind::Record) return writeAll(composite->parts, exact);
    Object object;
    for (size_t i = 0; i < composite->parts.size(); ++i)
      object[composite->fields[i]] = toJson(composite->parts[i], exact);
    return object;
  }
  const check::EnumValue& level = std::get<check::EnumValue>(value.node);
  const std::string& name = level.type->levels[level.level].name;
  if (level.payload.empty()) return name;
  return Object{{name, writeAll(level.payload, exact)}};
}

Array argumentsJson(const std::vector<check::CommandArgument>& written) {
  Array arguments;
  for (const check::CommandArgument& argument : written) {
    Array texts = base::jsonTexts(argument.texts);
    if (argument.options)
      arguments.push_back(std::move(texts));
    else
      arguments.push_back(std::move(texts[0]));
  }
  return arguments;
}

void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths) {
  if (type.kind == check::Type::Kind::Path) {
    base::addOnce(paths, std::get<std::string>(value.node));
  } else if (type.isEnum()) {
    const check::EnumValue& level = std::get<check::EnumValue>(value.node);
    // Paths may lie inside a level's payload or a composite value.
    for (size_t i = 0; i < level.payload.size(); ++i)
      collectPaths(level.payload[i], level.type->levels[level.level].fields[i].type, paths);
  } else if (auto* composite = std::get_if<check::CompositeValue>(&value.node)) {
    for (size_t i = 0; i < composite->parts.size(); ++i)
      collectPaths(composite->parts[i], type.composite->parts[composite->kind == check::Type::Kind::List ? 0 : i],
                   paths);
  }
}

Object parametersOf(const expand::Selected& selected, const expand::Assignment& resolved) {
  const check::Use& use = selected.study->uses[resolved.use()];
  Object parameters;
  for (unsigned i = 0; i < use.parameter_of.size(); ++i)
    if (const check::Value* value = use.parameter_of[i] >= 0 ? resolved.value(i) : nullptr)
      parameters[selected.study->parameter(i).name] = toJson(*value);
  for (const check::Computed& computed : use.computed)
    if (auto value = valueOf(computed, resolved)) parameters[computed.name] = std::move(*value);
  return parameters;
}

PointWriter::PointWriter(const Space& space) : space_(space), at_(space.selected()) {
  const check::Study& study = space.study();
  for (unsigned use = 0; use < study.uses.size(); ++use) uses_.push_back(compile(space, use));
  for (unsigned factor = 0; factor < study.factors.size(); ++factor) {
    Labels labels{factor, {}};
    const std::string& name = study.factors[factor].name;
    for (const check::Level& level : study.factors[factor].levels)
      labels.texts.push_back(member(name, jsonText(level.label)));
    // The entry for points without a level.
    labels.texts.push_back(member(name, nullptr));
    labels_.push_back(std::move(labels));
  }
  std::ranges::sort(labels_, [&](const Labels& a, const Labels& b) {
    return study.factors[a.factor].name < study.factors[b.factor].name;
  });
}

PointWriter::Use PointWriter::compile(const Space& space, unsigned index) {
  const check::Study& study = space.study();
  const check::Use& use = study.uses[index];
  Use result;
  result.inside = study.goesInside(use);
  // Split the document's canonical text inside the empty "parameters" object, which sorts between the other
  // keys.
  Object document = identity(*use.workload);
  document["parameters"] = Object{};
  std::string text = canonicalJson(std::move(document));
  const std::string marker = "\"parameters\":{";
  size_t at = text.find(marker + "}") + marker.size();
  result.prefix = text.substr(0, at);
  result.suffix = text.substr(at);

  // Parameters and computed arguments in the order of their names, without those that this workload lacks.
  const auto& parameters = study.workload->parameters;
  std::map<std::string_view, std::variant<unsigned, const check::Computed*>> sorted;
  for (unsigned i = 0; i < use.parameter_of.size(); ++i)
    if (use.parameter_of[i] >= 0) sorted.emplace(parameters[i].name, i);
  for (const check::Computed& computed : use.computed) sorted.emplace(computed.name, &computed);
  for (const auto& [name, what] : sorted) {
    Entry entry;
    if (const auto* computed = std::get_if<const check::Computed*>(&what)) {
      entry.computed = *computed;
      entry.reads = space.readsOf(*entry.computed->value).parameters;
      result.entries.push_back(std::move(entry));
      continue;
    }
    const unsigned parameter = std::get<unsigned>(what);
    entry.factor = study.factor_of[parameter];
    entry.when = space.when(parameter);
    entry.inside = use.workload->parameters[use.parameter_of[parameter]].inside.has_value();
    auto add = [&](const check::Value* value) {
      entry.parameters.push_back(value ? member(parameters[parameter].name, toJson(*value)) : "");
      // A default is left out of the id, but stands among the parameters.
      bool says = value && !isDefault(use, parameter, *value);
      entry.id.push_back(says ? member(parameters[parameter].name, toJson(*value, true)) : "");
    };
    // First the values of the factor's levels, last the argument or default, for points without a level.
    for (const check::Value* value : space.varied(parameter)) add(value);
    const auto& given = space.selected().arguments[index][parameter];
    add(given ? &*given : nullptr);
    // Neighbours that never vary are joined into one text.
    bool plain = entry.factor < 0 && !entry.when && !entry.inside;
    Entry* last = result.entries.empty() ? nullptr : &result.entries.back();
    if (plain && last && last->factor < 0 && !last->when && !last->computed && !last->inside) {
      append(last->id[0], entry.id[0]);
      append(last->parameters[0], entry.parameters[0]);
    } else {
      result.entries.push_back(std::move(entry));
    }
  }
  return result;
}

void PointWriter::appendMembers(Levels point, std::vector<std::string> Entry::* texts, std::string& out,
                                bool whole) const {
  for (const Entry& entry : uses_[space_.use(point)].entries)
    if (whole && entry.inside)
      continue;
    else if (entry.computed)
      appendComputed(point, entry, texts, out);
    else if (!entry.when || entry.when->holds(point))
      append(out, textAt(entry.*texts, entry.factor < 0 ? expand::kAbsent : point[entry.factor]));
}

void PointWriter::appendComputed(Levels point, const Entry& entry, std::vector<std::string> Entry::* texts,
                                 std::string& out) const {
  if (texts == &Entry::id) return;
  at_.set(point);
  if (at_.resolve(entry.reads)) return;
  if (const auto value = valueOf(*entry.computed, at_)) append(out, member(entry.computed->name, *value));
}

void PointWriter::appendParameters(Levels point, std::string& out) const {
  out += '{';
  appendMembers(point, &Entry::parameters, out);
  out += '}';
}

void PointWriter::appendLevels(Levels point, std::string& out) const {
  out += '{';
  for (const Labels& labels : labels_) append(out, textAt(labels.texts, point[labels.factor]));
  out += '}';
}

uint64_t PointWriter::hash(Levels point, bool whole) {
  const Use& use = uses_[space_.use(point)];
  canonical_ = use.prefix;
  appendMembers(point, &Entry::id, canonical_, whole);
  canonical_ += use.suffix;
  return base::hashOf(canonical_);
}

std::string_view PointWriter::id(Levels point) { return written(hash(point)); }

std::string_view PointWriter::process(Levels point) {
  return uses_[space_.use(point)].inside ? written(hash(point, true)) : std::string_view();
}

std::string_view PointWriter::written(uint64_t value) {
  for (size_t i = 16; i-- > 0; value >>= 4) hex_[i] = "0123456789abcdef"[value & 15];
  return {hex_, 16};
}

}  // namespace expc::points
