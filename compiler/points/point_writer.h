#pragma once

// Writes points as JSON and computes their ids. A space and levels come in, text goes out; which points are written is
// left to the caller.

#include <llvm/Support/JSON.h>

#include <string>
#include <string_view>
#include <vector>

#include "compiler/expand/space.h"

namespace expc::points {

/// A value as a parameter: base units; whole numbers stay whole; variants as {"mnist": ["data/mnist"]}, lists and
/// tuples as arrays, records as objects. `exact`: numbers are decimal text, so that no rounding can join or part two
/// ids.
llvm::json::Value toJson(const check::Value& value, bool exact = false);

/// The argument template as it is written, `options` as a list of its form: what a command is known by.
llvm::json::Array argumentsJson(const check::Command& command);

/// Appends the paths in a value of `type` that are not in `paths` yet.
void collectPaths(const check::Value& value, const check::Type& type, std::vector<std::string>& paths);

/// Every active parameter with its value.
llvm::json::Object parametersOf(const select::Selected& selected, const expand::Assignment& settled);

/// Writes points as text without building a document for each: the text of every level is made once, and a point's
/// text is put together from these. Not for several threads.
///
/// The id of a point (docs/layers/store.md) is the hash of the workload that runs (its name, or for a command its
/// arguments), its version and the active parameters that differ from the workload's default, with numbers as exact
/// decimals in base units. What is not in it changes no id: defaults, order, the study's other levels, how output is
/// read.
class PointWriter {
 public:
  explicit PointWriter(const expand::Space& space);

  /// Valid until the next call.
  std::string_view id(expand::Levels point);
  /// The first eight bytes of the id, as a number.
  uint64_t hash(expand::Levels point);
  /// {"batch":64,…}
  void appendParameters(expand::Levels point, std::string& out) const;
  /// {"gpus":"2","rank":null}: labels, null where a factor is not active.
  void appendLevels(expand::Levels point, std::string& out) const;

 private:
  /// Some members of the object, in the order of their names: of one parameter, or of several that never vary.
  struct Entry {
    int factor = -1;                          // -1: the same at every point
    const expand::Condition* when = nullptr;  // null: always there
    std::vector<std::string> id, parameters;  // by level, the last where the factor is not active
  };
  struct Use {
    std::string prefix, suffix;  // of the canonical text
    std::vector<Entry> entries;
  };
  Use compile(const expand::Space& space, unsigned use);
  void appendMembers(expand::Levels point, std::vector<std::string> Entry::* texts, std::string& out) const;

  const expand::Space& space_;
  std::vector<Use> uses_;
  struct Labels {
    unsigned factor = 0;
    std::vector<std::string> texts;  // by level, the last where it is not active
  };
  std::vector<Labels> labels_;  // by name
  std::string canonical_;
  char hex_[16];
};

}  // namespace expc::points
