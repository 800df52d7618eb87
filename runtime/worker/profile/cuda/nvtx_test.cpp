#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "runtime/worker/profile/range.h"

using namespace expc::profile;

TEST_CASE("every range reaches a tool that listens to NVTX") {
  // Set by ctest; NVTX reads it at the first range of the process.
  const char* tool = std::getenv("NVTX_INJECTION64_PATH");
  if (!tool) return;
  {
    const Range first(Phase::Load);
  }
  void* library = dlopen(tool, RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library);
  auto* told = reinterpret_cast<const char* (*)()>(dlsym(library, "expcToldNvtx"));
  REQUIRE((told != nullptr));
  CHECK(std::string(told()) == "domain expc; push load; pop; ");
  const size_t before = std::string(told()).size();
  {
    const auto epoch = std::make_unique<Range>(Phase::Epoch);
    const Range step(Phase::Step);
    {
      const Range forward(Phase::Forward);
    }
    {
      const Range backward(Phase::Backward);
    }
    {
      const Range reduce(Phase::AllReduce);
    }
    {
      const Range optimizer(Phase::Optimizer);
    }
    {
      const Range copy(Phase::Copy);
    }
  }
  CHECK(std::string(told()).substr(before) ==
        "start epoch; push step; push forward; pop; push backward; pop; push all_reduce; pop; push optimizer; pop; "
        "push copy; pop; pop; end; ");
}
