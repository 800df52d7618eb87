#include "runtime/worker/llama/config/config_file.h"

#include <fmt/format.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include "runtime/plan/json.h"

namespace expc::llama {
namespace {

constexpr uint64_t kLargestJson = 64 << 20;

}  // namespace

llvm::Expected<llvm::json::Value> readJsonFile(const std::string& path) {
  uint64_t size = 0;
  if (const auto error = llvm::sys::fs::file_size(path, size))
    return llvm::createStringError(path + ": " + error.message());
  if (size > kLargestJson)
    return llvm::createStringError(fmt::format("{}: {} bytes, expected at most {}", path, size, kLargestJson));
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file) return llvm::createStringError(path + ": " + file.getError().message());
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
