#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/lsp/workspace.h"
#include "compiler/points/survey.h"

namespace expc::lsp {

/// How many points a study has, and how many of them each level of a factor.
struct PointCounts {
  points::Seen seen;
  uint64_t points = 0;
  uint64_t product = 0;  // before the rules
};

/// The combinations of levels before the rules; UINT64_MAX where they are more.
uint64_t productOf(const check::Study& study);
/// Nothing for a study with an error inside, or with more than `most` combinations of levels.
std::optional<PointCounts> countPoints(const check::Study& study, uint64_t most);

/// The checked form of a study of the root file; null where check gave up on it.
const check::Study* checkedStudy(const check::Program& program, const ast::StudyDecl& declaration);
/// The checked form of the workload whose name is declared at a place; null where there is none.
const check::Workload* checkedWorkload(const check::Program& program, source::Range name);

/// What a symbol is in a few words, as they are written: the type of a parameter, the call of a comparison.
std::string detailOf(const Analysis& analysis, const check::Symbol& symbol);
/// Its doc comment; "" where it has none.
std::string_view docOf(const check::Symbol& symbol);
/// What is written at a place, if it is short.
std::string writtenShort(const Analysis& analysis, source::Range range);

/// The levels of a factor as they are written, in declared order; the first `most`, then "…".
std::string levelList(const check::Factor& factor, size_t most = 12);

}  // namespace expc::lsp
