#include "runtime/export/parquet.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/export/parquet/module.h"

namespace expc::exports {
namespace {

/// The module's function. It lies beside this program, and stays open once it was asked for.
llvm::Expected<ParquetEntry> openModule() {
  std::error_code unknown;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", unknown);
  const auto path = program.parent_path() / kParquetModule;
  if (!std::filesystem::exists(path, unknown))
    return llvm::createStringError(
        fmt::format("this expc was built without Parquet ({} is missing); run tools/setup and build it again, or write "
                    "--format csv",
                    path.string()));
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = module ? dlsym(module, kParquetEntry) : nullptr;
  if (!entry) return llvm::createStringError(fmt::format("{} cannot be opened: {}", path.string(), dlerror()));
  return reinterpret_cast<ParquetEntry>(entry);
}

}  // namespace

llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write) {
  auto entry = openModule();
  if (!entry) return entry.takeError();
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  const auto sink = (*entry)(temporary);
  write(*sink);
  std::string problem = sink->problem();
  if (problem.empty() && ::rename(temporary.c_str(), path.c_str()) != 0) problem = std::strerror(errno);
  if (problem.empty()) return llvm::Error::success();
  ::unlink(temporary.c_str());
  return llvm::createStringError(
      fmt::format("{} cannot be written: {}; name another file with --to FILE", path, problem));
}

}  // namespace expc::exports
