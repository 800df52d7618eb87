// In place of the loader where DALI's headers were not found.

#include "runtime/base/failure.h"
#include "runtime/worker/dali/dali_loader.h"

namespace expc::dali {

bool isBuilt() { return false; }

Expected<std::unique_ptr<data::Batches>> makeLoader(const data::Images& /*images*/, data::LoaderOptions /*options*/,
                                                    Gpu) {
  return failure(
      "loader dali: this worker was built without NVIDIA DALI; run `tools/setup --dali` and then `make build`");
}

}  // namespace expc::dali
