#include "runtime/export/parquet.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/base/process.h"
#include "runtime/export/parquet/module.h"
#include "runtime/files/files.h"

namespace expc::exports {
namespace {

/// The module lies beside this program, and stays open once it was asked for.
llvm::Expected<const ParquetModule*> openModule() {
  std::error_code unknown;
  const auto path = base::programFolder() / kParquetModule;
  if (!std::filesystem::exists(path, unknown))
    return llvm::createStringError(
        fmt::format("this expc was built without Parquet ({} is missing); run tools/setup and build it again, or take "
                    "CSV instead",
                    path.string()));
  void* module = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  void* entry = module ? dlsym(module, kParquetEntry) : nullptr;
  if (!entry)
    return llvm::createStringError(fmt::format(
        "{} cannot be opened: {}; it needs pyarrow (`pip install 'expc[parquet]'`)", path.string(), dlerror()));
  return static_cast<const ParquetModule*>(entry);
}

}  // namespace

llvm::Error writeParquet(const std::string& path, const std::function<void(Sink&)>& write) {
  auto module = openModule();
  if (!module) return module.takeError();
  llvm::Error error = files::writeBy(path, [&](const std::string& temporary) -> llvm::Error {
    const auto sink = (*module)->write(temporary);
    write(*sink);
    const std::string problem = sink->problem();
    return problem.empty() ? llvm::Error::success() : llvm::createStringError(fmt::format("{}: {}", path, problem));
  });
  if (!error) return error;
  return llvm::createStringError(
      fmt::format("cannot write {}; name another file with --to FILE", llvm::toString(std::move(error))));
}

llvm::Expected<std::unique_ptr<TextRows>> readParquet(const std::string& path) {
  auto module = openModule();
  if (!module) return module.takeError();
  return (*module)->read(path);
}

}  // namespace expc::exports
