#pragma once

// Reads what a cell's term gives in each block: a value, or the reason why there is none. Estimates and intervals of
// these values are left to cells.h.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/plan.h"

namespace expc::judge {

/// The cell's term in each block and session that has a value of it, ordered by block.
struct ValuesBySession {
  std::vector<double> values;
  std::vector<int64_t> sessions;  // of each value
};
ValuesBySession valuesOf(const Index& index, const plan::Cell& cell);

/// The order of a block's trials in a cell of two points. AsNamed: as the cell names them. ByTime, for two identical
/// points: the later trial stands for the first and the earlier for the second, since a block's order is random.
enum class Arms { AsNamed, ByTime };

/// All that a metric of a place was read as, in the blocks that have a value.
struct Readings {
  const MetricTerm* of = nullptr;
  std::vector<double> values;
};

/// Block values of one cell, with what was lost.
struct BlockValues : ValuesBySession {
  std::vector<int64_t> runs;  // of each value: the last one that measured a part of it
  unsigned lost = 0;          // blocks in which every point of the cell was tried, without a value
  plan::Why why_lost;         // of the newest of these: what was wrong before may be mended
  unsigned unused = 0;        // of these: all of its trials ended well
  plan::Why why_unused;
  plan::Why apart;        // why blocks count for nothing in which not every point was tried
  plan::Worst worst;      // of all values
  unsigned diverged = 0;  // values
  std::vector<Readings> readings;

  /// The values that the first runs measured, as many as are asked for.
  BlockValues first(unsigned count) const;
};

/// The block values of the cell's term, each inside one block and one session.
BlockValues blockValues(const Index& index, const plan::Cell& cell, Arms arms = Arms::AsNamed);

/// A reason that is of a place.
plan::Reason about(const Index& index, const Place& place, plan::Reason::Code code, std::vector<double> numbers = {},
                   std::string said = "");
/// Why there is no trial of a place; `claimed`: to run out of memory, of which what is expected is no evidence.
plan::Reason whyNotRun(const Index& index, const Place& place, bool claimed = false);

/// The first line of what a worker said, short enough for a verdict's line.
std::string brief(const std::string& reason);
/// A reason with "#" for each number of four digits or more, to find reasons that say the same: ports, processes and
/// addresses differ from trial to trial. Shorter numbers stay, such as exit codes.
std::string withoutIds(std::string_view text);

/// "precision=fp32 gpus=2", "the point" where it has no levels or is not the plan's, with " (control NAME)" for one.
std::string placeLabel(const Plan& plan, const Point* point, const std::string& control = "");
std::string placeLabel(const Index& index, const Place& place);

}  // namespace expc::judge
