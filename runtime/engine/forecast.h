#pragma once

// How much of a run is left, for its progress. Private to this directory.

#include <map>

#include "runtime/analysis/index.h"
#include "runtime/engine/progress.h"

namespace expc::engine {

class Forecast {
 public:
  /// The index must outlive it.
  Forecast(const analysis::Index& index, unsigned lanes) : index_(index), lanes_(lanes) {}
  /// Looks at the whole plan again: at the beginning of each block.
  void renew();
  /// A place of a block is over.
  void placeOver(plan::TrialKind kind);
  /// Fills in what is left, for a trial after which or during which `done` others are over. `over`: it is itself.
  void fill(TrialNote& note, unsigned done, bool over) const;

 private:
  struct Left {
    uint64_t trials = 0;
    std::optional<double> seconds_each;
  };
  const analysis::Index& index_;
  const unsigned lanes_;
  std::map<plan::TrialKind, Left> left_;
};

}  // namespace expc::engine
