#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/check/formula/formula.h"

namespace expc::driver {

/// Tokens of Llama 3.
inline constexpr int64_t kLlama3Vocabulary = 128'256;

/// What estimates ask of files (compiler/check/formula/formula.h), each read once: a model's sizes as the worker reads
/// them, the lengths of rows as it would cut them. Of what is missing or damaged nothing is known: `notes`, which must
/// outlive it, says what that was and what it means for the plan, a line each. Relative paths start at the folder of
/// `study`.
check::Lookup fileLookups(const std::string& study, std::vector<std::string>& notes);

}  // namespace expc::driver
