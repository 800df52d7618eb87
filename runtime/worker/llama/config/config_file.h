#pragma once

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/worker/llama/config.h"

namespace expc::llama {

/// A JSON file of a model's folder, at most 64 MiB; errors name it.
llvm::Expected<llvm::json::Value> readJsonFile(const std::string& path);

/// The sizes in a folder's config.json. Errors name the file and all in it that a Llama 3 decoder cannot be.
llvm::Expected<Config> readConfig(const std::string& folder);

}  // namespace expc::llama
