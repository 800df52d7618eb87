#pragma once

// A worker's declarations and how they are read: workloads, their parameters and metrics, and a trial's settings. One
// function of a workload describes its parameters to a ParameterTable; the same walk declares them (--describe) and
// reads them from a trial's specification, so the two cannot differ. For workers without torch too.

#include <llvm/Support/JSON.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/protocol/trial.h"

namespace expc::workload {

/// A parameter as stdlib/*.exp declares it; a test compares the two.
struct Param {
  std::string name;
  std::string type;   // "Pixels", "int", "precision"
  json::Value value;  // the default in base units; null if there is none
  /// Levels with which one process drives all devices of a trial: it gets all slots, and is the only rank.
  std::vector<std::string> one_process = {};
};

/// A metric's name and the kind of trial that measures it. Its unit and direction are in stdlib/*.exp alone.
struct Metric {
  std::string name;
  TrialKind kind = TrialKind::Timed;
};

/// The part of a workload that --describe prints.
struct Declared {
  std::string name;  // "image.mobilenet_v2"
  int version = 1;   // raised when results would change or a default changes
  std::vector<Param> params;
  std::vector<Metric> metrics;
};

/// An entry of "workloads" in the output of --describe.
json::Value toJson(const Declared& workload);

/// Walks through parameters one by one, in the order of stdlib/*.exp. Each function takes a value that holds the
/// default, declares the parameter with that default, and overwrites the value if the trial gives one. The first
/// value that makes no sense is kept as an error that names it and says what it may be; reading goes on with the
/// default.
class ParameterTable {
 public:
  using Value = json::Value;

  /// `what` is the noun in messages: "parameter" or "setting". `object` must outlive the table.
  ParameterTable(const json::Object& object, std::string what) : object_(object), what_(std::move(what)) {}

  /// A finite number in [low, high], or a text of one (an exact decimal).
  void number(StringRef name, double& value, double low, double high, const char* type = "float");
  /// A whole number in [low, high].
  template <std::integral Whole>
  void whole(StringRef name, Whole& value, int64_t low, int64_t high, const char* type = "int") {
    value = static_cast<Whole>(readWhole(name, int64_t(value), low, high, type));
  }
  /// true or false.
  void flag(StringRef name, bool& value);
  /// A level of the type that has the parameter's name; `levels` give each word's meaning.
  template <typename Meaning>
  Param& word(StringRef name, Meaning& value,
              std::initializer_list<std::pair<StringRef, std::type_identity_t<Meaning>>> levels) {
    std::vector<StringRef> words;
    size_t otherwise = 0;
    for (const auto& [word, meaning] : levels) {
      if (meaning == value) otherwise = words.size();
      words.push_back(word);
    }
    value = levels.begin()[readWord(name, words, otherwise)].second;
    return params_.back();
  }
  /// Either the level `level`, which leaves "", or {"variant":["a path"]}.
  void path(StringRef name, std::string& value, StringRef level, StringRef variant);

  /// The reading of {"folder":["a path"]} or {"synthetic":[12]}.
  struct Source {
    size_t level = 0;  // index among the levels that were asked for; their number means synthetic
    std::string path;
    int64_t count = 0;
  };
  /// A level of `levels` with its path, or a number of made-up items. Nothing if the parameter is absent or makes no
  /// sense.
  std::optional<Source> source(StringRef name, const char* type, Value otherwise,
                               std::initializer_list<StringRef> levels, const std::string& wanted);

  /// Declares a parameter that is read in another way, or by somebody else. Returns its value, or null if it is
  /// absent.
  const Value* declare(StringRef name, const char* type, Value otherwise);

  /// The parts of {"level":[argument]}, a level with one argument; nothing for any other value.
  struct Variant {
    StringRef level;
    const Value* argument = nullptr;
  };
  static std::optional<Variant> variant(const Value& value);

  /// Records that `value` makes no sense and must be `wanted`. Only the first failure is kept.
  void fail(StringRef name, const Value& value, const std::string& wanted);
  /// The recorded error, or success.
  Error take() const;
  /// Likewise, or an error for a name that was not declared. `owner` is the workload in the message.
  Error takeAll(StringRef owner) const;
  /// All parameters that were declared. The table is of no use afterwards.
  std::vector<Param> declared() && { return std::move(params_); }

 private:
  int64_t readWhole(StringRef name, int64_t otherwise, int64_t low, int64_t high, const char* type);
  size_t readWord(StringRef name, ArrayRef<StringRef> words, size_t otherwise);

  const json::Object& object_;
  std::string what_, message_;
  std::vector<Param> params_;
};

/// Names, types and defaults of the parameters that a workload's `describe` walks through.
template <typename Parameters>
std::vector<Param> declared(void (*describe)(ParameterTable&, Parameters&)) {
  const json::Object none;
  ParameterTable table(none, "parameter");
  Parameters parameters;
  describe(table, parameters);
  return std::move(table).declared();
}

/// Reads {"method":"lora","model":{"folder":["models/mine"]},…}. Absent parameters have their defaults.
template <typename Parameters>
Expected<Parameters> read(StringRef workload, const json::Object& object,
                          void (*describe)(ParameterTable&, Parameters&)) {
  ParameterTable table(object, "parameter");
  Parameters parameters;
  describe(table, parameters);
  TRY(table.takeAll(workload));
  return parameters;
}

/// The length of a trial. Timed and profile trials run `steps` after `warmup`, or as many steps as `passes` over the
/// data take; quality trials run `epochs`. Values that do not apply are 0.
struct Settings {
  int64_t steps = 0;
  int64_t warmup = 0;
  int64_t epochs = 0;
  int64_t passes = 0;

  /// These settings with `passes` converted to steps, each pass taking `steps_per_pass`.
  Settings over(int64_t steps_per_pass) const {
    return {passes > 0 ? passes * steps_per_pass : steps, warmup, epochs, passes};
  }
};
/// The settings of the trial's kind, or an error if a length is missing or makes no sense.
Expected<Settings> readSettings(const protocol::TrialSpec& spec);

/// Whether the trial asks for a metric. A trial that names no metric asks for all.
bool asked(const protocol::TrialSpec& spec, std::string_view metric);

}  // namespace expc::workload
