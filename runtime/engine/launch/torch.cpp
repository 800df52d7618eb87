#include "runtime/engine/launch/torch.h"

#include <llvm/Support/Process.h>

#include <filesystem>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"

namespace expc::engine::launch {
namespace {

namespace fs = std::filesystem;

/// The version of a torch folder, for example "2.11.0", from version.py (wheel) or build-version (LibTorch archive); ""
/// if neither is there.
std::string versionOf(const fs::path& torch) {
  for (const char* name : {"version.py", "build-version"}) {
    const auto file = expectedToOptional(files::read((torch / name).string(), files::kMostByHand));
    if (!file) continue;
    const auto [all, after] = (*file)->getBuffer().split("__version__ = '");
    return (after.empty() ? all : after).take_while([](char c) { return c == '.' || (c >= '0' && c <= '9'); }).str();
  }
  return "";
}

/// "2.11" of "2.11.0".
StringRef minorOf(StringRef version) { return version.substr(0, version.find('.', version.find('.') + 1)); }

/// The value of a variable in `added`, else in this process; "" if it is not set.
std::string valueOf(const std::string& name, const std::vector<std::string>& added) {
  for (const std::string& variable : added)
    if (StringRef value = variable; value.consume_front(name + "=")) return value.str();
  return llvm::sys::Process::GetEnv(name).value_or("");
}

}  // namespace

std::string torchWanted() { return minorOf(EXPC_TORCH_VERSION).str(); }

Expected<std::vector<std::string>> withTorch(const std::string& worker, std::vector<std::string> added) {
  const fs::path program(worker);
  if (program.filename() != "expc-worker" && program.filename() != "expc-worker-cuda") return added;
  const std::string named = valueOf("EXPC_TORCH", added);
  const fs::path torch = named.empty() ? (program.parent_path() / "../../torch").lexically_normal() : fs::path(named);
  std::error_code unknown;
  // The library is looked for, not the folder: a removed wheel often leaves folders behind.
  const bool there = fs::exists(torch / "lib/libtorch_cpu.so", unknown);
  if (!there && named.empty()) return added;  // a build: the worker finds torch by its run path
  const std::string version = versionOf(torch), wanted = torchWanted();
  if (!there || minorOf(version) != wanted) {
    return failure(
        "the worker '{0}' was built for torch {1}, and {2} {3}; install that (`pip install 'torch=={1}.*'`), or name "
        "the folder of one with --torch PATH or in EXPC_TORCH",
        worker, wanted, torch.string(),
        !there            ? "has no lib/libtorch_cpu.so"
        : version.empty() ? "does not state its version"
                          : "is " + version);
  }
  // Wheels of NVIDIA's packages are installed beside torch's, in site-packages/nvidia.
  const fs::path wheels = torch.parent_path() / "nvidia";
  if (valueOf("EXPC_DALI_ROOT", added).empty() && fs::exists(wheels / "dali", unknown))
    added.push_back("EXPC_DALI_ROOT=" + (wheels / "dali").string());
  if (named.empty()) return added;
  // torch's folder comes first, so that it wins over the run path and over any other torch. It hides no library of null
  // cards, since none of them has a name of torch's. CUDA's own libraries come last.
  std::string path = valueOf("LD_LIBRARY_PATH", added);
  path = (torch / "lib").string() + base::framed(":", path) + ":" + (wheels / "cu13/lib").string();
  std::erase_if(added, [](const std::string& variable) { return StringRef(variable).starts_with("LD_LIBRARY_PATH="); });
  added.push_back("LD_LIBRARY_PATH=" + path);
  return added;
}

}  // namespace expc::engine::launch
