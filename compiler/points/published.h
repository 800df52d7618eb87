#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/points/terms.h"

namespace expc::points {

/// What a reference publishes for the points of a study. A row belongs to a point if every parameter that it gives has
/// that value there; of several rows the first that has the metric counts. Of parameters that the reference does not
/// name it means the study's own values: where a preset or -D gives a workload others, nothing is published.
class PublishedValues {
 public:
  PublishedValues(const expand::Space& space, const check::Published& published);

  /// A metric of the study at a point: as published, else derived from what is.
  std::optional<double> of(unsigned metric, expand::Levels point);
  /// A criterion's subject at a point where it has a value.
  std::optional<double> of(const check::Criterion& criterion, const Pairs& pairs, expand::Levels point);

 private:
  /// Rows that give the same parameters, by their values.
  struct Group {
    std::vector<unsigned> parameters;
    std::unordered_map<std::string, std::vector<size_t>> rows;
  };
  /// As a row has it.
  std::optional<double> read(unsigned metric, expand::Levels point);

  const expand::Space& space_;
  const check::Published& published_;
  std::vector<bool> elsewhere_;  // by workload of the study: it runs at other settings
  std::vector<Group> groups_;
  std::vector<plan::TermPtr> derived_;  // by metric of the study; null: measured
  expand::Assignment at_;
};

/// Calls `visit` for the points with these levels, until it says false.
void findPinned(const expand::Space& space, const std::vector<check::Pin>& pins,
                llvm::function_ref<bool(expand::Levels)> visit);

}  // namespace expc::points
