#include "runtime/worker/dali/library.h"

#include <dlfcn.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/ADT/StringRef.h>

#include <cstdlib>
#include <mutex>

#include "runtime/base/process.h"

namespace expc::dali {
namespace {

/// `root` is the folder nvidia/dali of the wheel; nvidia/nvimgcodec beside it is found by DALI itself.
llvm::Error open(const std::string& root, Library& library) {
  void* handles[2] = {};
  // The operators enter themselves into the first library's list as the second is loaded.
  const char* const names[2] = {"libdali.so", "libdali_operators.so"};
  for (int i = 0; i < 2; ++i) {
    handles[i] = dlopen((root + "/" + names[i]).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handles[i]) {
      const char* reason = dlerror();
      return llvm::createStringError(
          "loader dali: NVIDIA DALI cannot be loaded: " + std::string(reason ? reason : "no reason given") +
          "; `tools/setup --dali` installs it, EXPC_DALI_ROOT names another folder that "
          "holds libdali.so");
    }
  }
#define EXPC_DALI_RESOLVE(name)                                                                                  \
  library.name = reinterpret_cast<decltype(library.name)>(dlsym(handles[0], #name));                             \
  if (!library.name)                                                                                             \
    return llvm::createStringError("loader dali: " + root +                                                      \
                                   "/libdali.so has no " #name                                                   \
                                   ": it is another version than this worker was built with (" EXPC_DALI_VERSION \
                                   "); run `tools/setup --dali`");
  EXPC_DALI_FUNCTIONS(EXPC_DALI_RESOLVE)
#undef EXPC_DALI_RESOLVE
  if (library.daliInit() != DALI_SUCCESS) return library.error("it does not start");
  return llvm::Error::success();
}

}  // namespace

llvm::Error Library::error(const std::string& what) const {
  return llvm::createStringError("loader dali: " + what + ": " + plainMessage(daliGetLastErrorMessage()));
}

llvm::Expected<const Library*> load() {
  static std::mutex mutex;
  static Library library;
  static bool loaded = false;
  std::lock_guard lock(mutex);
  if (!loaded) {
    const char* root = std::getenv("EXPC_DALI_ROOT");
    if (auto error = open(root && *root ? root : base::programFolder() / EXPC_DALI_FOLDER, library)) return error;
    loaded = true;
  }
  return &library;
}

std::string plainMessage(const char* message) {
  llvm::SmallVector<llvm::StringRef, 16> lines;
  llvm::StringRef(message ? message : "").split(lines, '\n', -1, /*KeepEmpty=*/false);
  std::string result;
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (line.empty() || line == "Critical error in pipeline:" ||
        line == "Current pipeline object is no longer valid." || line.starts_with("C++ context:") ||
        line.starts_with("Stacktrace") || line.starts_with("[frame "))
      continue;
    if (!result.empty()) result += llvm::StringRef(result).ends_with(":") ? " " : "; ";
    result += line;
  }
  return result.empty() ? "no reason given" : result;
}

}  // namespace expc::dali
