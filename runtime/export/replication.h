#pragma once

// `expc replicate`: what became of a study's conclusions in other places.

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"

namespace expc::exports {

/// One set of results of the study.
struct Place {
  std::string name;
  const analysis::Judgement& judgement;
};

/// What became of a conclusion: a verdict of the original that stands.
enum class Replication {
  Holds,         // every place that is decided says the same, and at least one is
  Contradicted,  // some place is decided otherwise
  Open,          // no place but the original is decided
  NoConclusion   // the original is not decided itself
};
std::string_view toString(Replication replication);

struct Replicated {
  std::string name, text;
  Replication replication = Replication::NoConclusion;
  std::vector<std::string> verdicts;            // by place, the original first, as the report words them
  std::vector<std::vector<std::string>> cells;  // by place: its estimates, a line for each cell
  std::vector<std::string> why;                 // by place
};

/// Each criterion that the study asks, in its order. `places` begins with the original; all judge one study.
std::vector<Replicated> replicate(const plan::Plan& plan, const std::vector<Place>& places);

std::string replicationText(const plan::Plan& plan, const std::vector<Place>& places,
                            const std::vector<Replicated>& criteria, unsigned width, bool colour);
/// "expc.replicate/1".
llvm::json::Value replicationJson(const plan::Plan& plan, const std::vector<Place>& places,
                                  const std::vector<Replicated>& criteria);

}  // namespace expc::exports
