#pragma once

// What a worker says that it runs: workloads, what they take, and what they measure; and what crosses in a trial's
// specification, by name: parameters, declared and read by one table of a workload, and settings.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>
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

#include "runtime/protocol/trial.h"

namespace expc::workload {

/// As declared in stdlib/*.exp; a test compares the two.
struct Param {
  std::string name;
  std::string type;         // "Pixels", "int", "precision"
  llvm::json::Value value;  // default, in base units; null: none
  /// Levels with which one process drives all devices of the trial: it gets all slots, and there is no other rank.
  std::vector<std::string> one_process = {};
};

/// What it is, a time or a share, and which way is better, stdlib/*.exp alone says.
struct Metric {
  std::string name;
  plan::TrialKind kind = plan::TrialKind::Timed;
};

struct Declared {
  std::string name;  // "image.mobilenet_v2"
  int version = 1;   // raised when results would change or a default changes
  std::vector<Param> params;
  std::vector<Metric> metrics;
};

/// An entry of "workloads" in what `--describe` prints.
llvm::json::Value toJson(const Declared& workload);

/// Goes through parameters one by one, in the order of stdlib/*.exp. Each is read into a value that holds its default,
/// and stays so where the trial says nothing, and is declared with that default. The first that makes no sense is kept,
/// as an error that names it, its value and what it may be.
class ParameterTable {
 public:
  using Value = llvm::json::Value;

  /// `what` stands before a name: "parameter". The object must live longer.
  ParameterTable(const llvm::json::Object& object, std::string what) : object_(object), what_(std::move(what)) {}

  /// A number, or the text of one (an exact decimal).
  void number(llvm::StringRef name, double& value, double low, double high, const char* type = "float");
  template <std::integral Whole>
  void whole(llvm::StringRef name, Whole& value, int64_t low, int64_t high, const char* type = "int") {
    value = static_cast<Whole>(readWhole(name, static_cast<int64_t>(value), low, high, type));
  }
  void flag(llvm::StringRef name, bool& value);
  /// A level of the type that is called as the parameter, and what it means.
  template <typename Meaning>
  Param& word(llvm::StringRef name, Meaning& value,
              std::initializer_list<std::pair<llvm::StringRef, std::type_identity_t<Meaning>>> levels) {
    std::vector<llvm::StringRef> words;
    size_t otherwise = 0;
    for (const auto& [word, meaning] : levels) {
      if (meaning == value) otherwise = words.size();
      words.push_back(word);
    }
    value = levels.begin()[readWord(name, words, otherwise)].second;
    return params_.back();
  }
  /// A level without arguments, which leaves "", or a variant that holds a path.
  void path(llvm::StringRef name, std::string& value, llvm::StringRef level, llvm::StringRef variant);

  /// {"folder":["a path"]} or {"synthetic":[12]}.
  struct Source {
    size_t level = 0;  // among those that were asked for; the made up one is behind them
    std::string path;
    int64_t count = 0;
  };
  /// One of the levels with its path, or how many are made up; nothing where it is absent or makes no sense.
  std::optional<Source> source(llvm::StringRef name, const char* type, Value otherwise,
                               std::initializer_list<llvm::StringRef> levels, const std::string& wanted);

  /// Declares a parameter that is read in another way, or by nobody here. Its value, or null.
  const Value* declare(llvm::StringRef name, const char* type, Value otherwise);

  /// {"level":[argument]}: the level and its one argument. Nothing for anything else.
  struct Variant {
    llvm::StringRef level;
    const Value* argument = nullptr;
  };
  static std::optional<Variant> variant(const Value& value);

  void fail(llvm::StringRef name, const Value& value, const std::string& wanted);
  /// The error, if there was one.
  llvm::Error take() const;
  /// The same, and one for a name that is not declared. `owner`: "image.mobilenet_v2".
  llvm::Error takeAll(llvm::StringRef owner) const;
  std::vector<Param> declared() && { return std::move(params_); }

 private:
  int64_t readWhole(llvm::StringRef name, int64_t otherwise, int64_t low, int64_t high, const char* type);
  size_t readWord(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> words, size_t otherwise);

  const llvm::json::Object& object_;
  std::string what_, message_;
  std::vector<Param> params_;
};

/// Names, types and defaults of what a workload's `describe` goes through.
template <typename Parameters>
std::vector<Param> declared(void (*describe)(ParameterTable&, Parameters&)) {
  const llvm::json::Object none;
  ParameterTable table(none, "parameter");
  Parameters parameters;
  describe(table, parameters);
  return std::move(table).declared();
}

/// Reads {"method":"lora","model":{"folder":["models/mine"]},…}. Absent ones have their default.
template <typename Parameters>
llvm::Expected<Parameters> read(llvm::StringRef workload, const llvm::json::Object& object,
                                void (*describe)(ParameterTable&, Parameters&)) {
  ParameterTable table(object, "parameter");
  Parameters parameters;
  describe(table, parameters);
  if (auto error = table.takeAll(workload)) return error;
  return parameters;
}

/// Lengths of a trial: timed and profile ones run `steps` after `warmup`, or as many as `passes` over the data are;
/// quality ones `epochs`.
struct Settings {
  int64_t steps = 0;
  int64_t warmup = 0;
  int64_t epochs = 0;
  int64_t passes = 0;

  /// With the steps that the passes are, where each takes so many.
  Settings over(int64_t steps_per_pass) const {
    return {passes > 0 ? passes * steps_per_pass : steps, warmup, epochs, passes};
  }
};
llvm::Expected<Settings> readSettings(const protocol::TrialSpec& spec);

/// Whether the trial is asked for a metric; one that names none is asked for all.
bool asked(const protocol::TrialSpec& spec, std::string_view metric);

}  // namespace expc::workload
