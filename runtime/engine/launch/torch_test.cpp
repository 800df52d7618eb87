#include "runtime/engine/launch/torch.h"

#include <doctest/doctest.h>
#include <llvm/ADT/StringRef.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "runtime/base/files/files.h"
#include "tests/support/folder.h"

namespace {

namespace fs = std::filesystem;
using expc::engine::launch::withTorch;
using Variables = std::vector<std::string>;

/// Folders as pip lays them: the workers' bin in expc, torch and NVIDIA's wheels beside that.
struct Site : expc::test::TestFolder {
  const fs::path root = path;
  explicit Site(const char* version) {
    fs::create_directories(root / "torch/lib");
    fs::create_directories(root / "expc/bin");
    write("torch/lib/libtorch_cpu.so", "");
    write("torch/version.py", std::string("__all__ = ['__version__', 'cuda']\n__version__ = '") + version + "'\n");
    unsetenv("EXPC_TORCH");
    unsetenv("EXPC_DALI_ROOT");
    unsetenv("LD_LIBRARY_PATH");
  }
  ~Site() { unsetenv("EXPC_TORCH"); }
  void write(const char* name, const std::string& text) const {
    REQUIRE(!expc::files::write((root / name).string(), text));
  }
  std::string worker(const char* name) const { return (root / "expc/bin" / name).string(); }
  std::string torch() const { return (root / "torch").string(); }
};

const std::string kBuilt = EXPC_TORCH_VERSION;

std::string errorOf(llvm::Expected<Variables> got) { return got ? "" : llvm::toString(got.takeError()); }

}  // namespace

TEST_CASE(
    "the torch beside an installed worker is the run path's, and must be of the minor version that was built for") {
  const Site site((kBuilt + "+cpu").c_str());
  CHECK(llvm::cantFail(withTorch(site.worker("expc-worker"), {"A=1"})) == Variables{"A=1"});
  site.write("torch/version.py", "__version__ = '1.13.1'\n");
  const std::string why = errorOf(withTorch(site.worker("expc-worker-cuda"), {}));
  CHECK(llvm::StringRef(why).contains("torch is 1.13.1; install that (`pip install 'torch=="));
  CHECK(llvm::cantFail(withTorch(site.worker("expc-worker-command"), {})).empty());
}

TEST_CASE("a torch that is named comes first, then what null cards bring, then NVIDIA's wheels beside it") {
  const Site site(kBuilt.c_str());
  fs::create_directories(site.root / "nvidia/dali");
  setenv("EXPC_TORCH", site.torch().c_str(), 1);
  const Variables got = llvm::cantFail(withTorch("/elsewhere/expc-worker-cuda", {"LD_LIBRARY_PATH=/null", "B=2"}));
  const std::string beside = (site.root / "nvidia").string();
  CHECK(got == Variables{"B=2", "EXPC_DALI_ROOT=" + beside + "/dali",
                         "LD_LIBRARY_PATH=" + site.torch() + "/lib:/null:" + beside + "/cu13/lib"});
  fs::remove(site.root / "torch/version.py");
  CHECK(llvm::StringRef(errorOf(withTorch("/elsewhere/expc-worker", {}))).contains("does not state its version"));
  site.write("torch/build-version", kBuilt + "+cu130\n");
  CHECK(errorOf(withTorch("/elsewhere/expc-worker", {})).empty());
}
