#pragma once

#include <llvm/Support/JSON.h>

#include <string>
#include <vector>

#include "runtime/analysis/description.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Sentences under a title, for terminal and page.
struct Described {
  std::string title, rest;
  std::vector<std::string> lines;
};

/// What there is to say, in the order in which one wants to know it; empty parts are left out.
std::vector<Described> describedTexts(const plan::Plan& plan, const analysis::Description& description,
                                      const store::Results& results);

/// A sentence for a warm-up and one for a trend, where there are such.
std::vector<std::string> driftTexts(const analysis::Drift& drift);

llvm::json::Value descriptionJson(const analysis::Description& description);

}  // namespace expc::report
