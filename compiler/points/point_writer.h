#pragma once

// Writes points as JSON and computes their ids. A point's id is what stored trials are found by, so the texts
// here must never change for a point that means the same: a changed id makes old measurements unfindable
// (docs/layers/store.md). Which points are written is left to the caller.

#include <llvm/Support/JSON.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/expand/space.h"
#include "runtime/base/llvm.h"

namespace expc::points {

using expand::Levels, expand::Space;

/// A value as a parameter of a trial, in base units; whole numbers stay whole. Variants are {"mnist":
/// ["data/mnist"]}, lists and tuples arrays, records objects. `exact`: numbers are decimal text, so that
/// rounding can neither join nor split two ids.
json::Value toJson(const check::Value& value, bool exact = false);

/// A command's argument template as it is written, `options` as a list of its form. This is a command's
/// identity.
json::Array argumentsJson(const std::vector<check::CommandArgument>& written);

/// Appends the paths in a value of `type` that are not in `paths` yet.
void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths);

/// Every active parameter of the workload that runs, with its value, and every let that its command's arguments
/// hold. `resolved` must be resolved for all
/// parameters.
json::Object parametersOf(const expand::Selected& selected, const expand::Assignment& resolved);

/// Writes points as text without building a document for each: the text of every level is made once, and a
/// point's text is joined from these. A test compares it with the document. Not thread-safe.
///
/// A point's id is the hash of the workload that runs (its name, or for a command its arguments), its version,
/// and the active parameters that differ from the workload's default, numbers as exact decimals in base units.
/// Nothing else changes an id: not the defaults, the order of declarations, the study's other levels, or how
/// output is read.
class PointWriter {
 public:
  explicit PointWriter(const Space& space);

  /// 16 hexadecimal digits. Valid until the next call.
  std::string_view id(Levels point);
  /// The id of the process that measures the point with others: that of the point without its inside parameters. "" if
  /// the point has trials of its own. Valid until the next call.
  std::string_view process(Levels point);
  /// The id as a number: the first eight bytes of the hash.
  uint64_t hash(Levels point, bool whole = false);
  /// Appends {"batch":64,…}: every active parameter and computed argument, in the order of their names.
  void appendParameters(Levels point, std::string& out) const;
  /// Appends {"gpus":"2","rank":null}: the labels, null for a factor that is not active.
  void appendLevels(Levels point, std::string& out) const;

 private:
  /// Members of the object that follow each other in the order of names: one parameter, or several that never
  /// vary.
  struct Entry {
    /// The factor that varies it; -1 if it is the same at every point.
    int factor = -1;
    /// The condition under which the workload has it; null: everywhere.
    const expand::Condition* when = nullptr;
    /// A parameter whose levels processes go through by themselves.
    bool inside = false;
    /// A let in place of a parameter, with the parameters that it reads; it is no part of an id.
    const check::Computed* computed = nullptr;
    std::vector<unsigned> reads = {};
    /// The text of each level, in the id and among the parameters; the last entry is for points without a
    /// level.
    std::vector<std::string> id, parameters;
  };
  /// A workload of the study: the canonical text around the parameters, and the parameters.
  struct Use {
    bool inside = false;
    std::string prefix, suffix;
    std::vector<Entry> entries;
  };
  Use compile(const Space& space, unsigned use);
  /// Appends one of the two texts of every entry that the point has, separated by commas.
  void appendMembers(Levels point, std::vector<std::string> Entry::* texts, std::string& out, bool whole = false) const;
  std::string_view written(uint64_t value);
  void appendComputed(Levels point, const Entry& entry, std::vector<std::string> Entry::* texts,
                      std::string& out) const;

  const Space& space_;
  mutable expand::Assignment at_;
  std::vector<Use> uses_;
  /// The texts of a factor's labels; the last one is for points without a level.
  struct Labels {
    unsigned factor = 0;
    std::vector<std::string> texts;
  };
  // In the order of the factors' names.
  std::vector<Labels> labels_;
  // Buffers, kept to avoid an allocation for each point.
  std::string canonical_;
  char hex_[16];
};

}  // namespace expc::points
