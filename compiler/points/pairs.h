#pragma once

#include <string>
#include <vector>

#include "compiler/expand/space.h"

namespace expc::points {

/// Why a point has no partner: what is in the way of the point that it would be compared with.
struct Missing {
  expand::Obstacle obstacle;
  unsigned level = 0;  // LeftOut: which one

  auto operator<=>(const Missing&) const = default;
};
/// Name of a rule for people: its own, or "line 12".
std::string ruleName(const check::Rule& rule, const source::SourceManager& sources);
/// "the rule of slow removes it (a day for one point)"
std::string text(const Missing& missing, const check::Study& study, const source::SourceManager& sources);

/// Finds what the points of a study are compared with. A partner is at another level of the compared factor and agrees
/// on every other factor that is active in both; no list of points is needed, since the space can be asked.
class Pairs {
 public:
  explicit Pairs(const expand::Space& space) : space_(space) {}

  enum class Found {
    NotTreated,  // the point is a baseline itself, or the factor does not vary there
    None,        // no partner
    One,
    Several  // factors that are active only at the baseline have several levels there
  };
  struct Answer {
    Found found = Found::NotTreated;
    std::vector<unsigned> partner;  // One; Several: one of them
    Missing missing;                // None
  };

  /// The partner of `point` in a comparison; of an inner one nothing is asked.
  Answer partner(const check::Comparison& comparison, expand::Levels point) const;
  /// Whether a comparison has a value at `point`: it and those inside it have partners. The answer's partner is that of
  /// the outermost.
  Answer value(const check::Comparison& comparison, expand::Levels point) const;
  /// Calls `visit` for every point that the value at `point` reads, treated ones first; it must exist. Without a
  /// comparison that is the point itself.
  void reads(const check::Comparison* comparison, expand::Levels point,
             llvm::function_ref<void(expand::Levels)> visit) const;

 private:
  Answer at(const check::Comparison& comparison, expand::Levels point, unsigned level) const;

  const expand::Space& space_;
};

}  // namespace expc::points
