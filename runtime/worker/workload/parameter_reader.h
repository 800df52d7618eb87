#pragma once

// Reading what crosses in a trial's specification: parameters and settings, by name.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/plan/trial.h"

namespace expc::workload {

/// Reads members of an object one by one; absent ones have their default. The first that makes no sense is kept, as an
/// error that names it, its value and what it may be.
class ParameterReader {
 public:
  using Value = llvm::json::Value;

  /// `what` stands before a name: "parameter". The object must live longer.
  ParameterReader(const llvm::json::Object& object, std::string what) : object_(object), what_(std::move(what)) {}

  /// A number, or the text of one (an exact decimal).
  double number(llvm::StringRef name, double otherwise, double low, double high);
  int64_t whole(llvm::StringRef name, int64_t otherwise, int64_t low, int64_t high);
  bool flag(llvm::StringRef name, bool otherwise);
  /// Index into `words`; 0 for one that is absent.
  size_t word(llvm::StringRef name, std::initializer_list<llvm::StringRef> words);
  /// A variant of a level without arguments, which gives "", and one that holds a path.
  std::string path(llvm::StringRef name, llvm::StringRef level, llvm::StringRef variant);

  /// {"level":[argument]}: the level and its one argument. Nothing for anything else.
  struct Variant {
    llvm::StringRef level;
    const Value* argument = nullptr;
  };
  std::optional<Variant> variant(llvm::StringRef name) const;

  const Value* get(llvm::StringRef name) const { return object_.get(name); }
  void fail(llvm::StringRef name, const Value& value, const std::string& wanted);
  /// The error, if there was one.
  llvm::Error take() const;

 private:
  const llvm::json::Object& object_;
  std::string what_, message_;
};

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
llvm::Expected<Settings> readSettings(const plan::TrialSpec& spec);

/// Whether the trial is asked for a metric; one that names none is asked for all.
bool asked(const plan::TrialSpec& spec, std::string_view metric);

}  // namespace expc::workload
