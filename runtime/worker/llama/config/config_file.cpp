#include "runtime/worker/llama/config/config_file.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/plan/json.h"

namespace expc::llama {
llvm::Expected<llvm::json::Value> readJsonFile(const std::string& path) {
  auto file = files::read(path, files::kMostByHand);
  if (!file) return file.takeError();
  if (const auto form = files::formOf((*file)->getBuffer()); !form.empty())
    return base::failure("{}: no JSON but {}", path, form);
  auto value = plan::parseJson((*file)->getBuffer());
  if (!value) return llvm::createStringError(path + ": " + llvm::toString(value.takeError()));
  return value;
}

llvm::Expected<Config> readConfig(const std::string& folder) {
  const std::string path = folder + "/config.json";
  auto json = readJsonFile(path);
  if (!json) return json.takeError();
  auto config = configFromJson(*json);
  if (!config) return llvm::createStringError(path + ": " + llvm::toString(config.takeError()));
  return config;
}

}  // namespace expc::llama
