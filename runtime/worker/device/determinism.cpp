#include "runtime/worker/device/determinism.h"

#include <ATen/Context.h>
#include <c10/util/env.h>

namespace expc::device {

void useDeterministicAlgorithms() {
  // cuBLAS sums in the same order each time only with a workspace of its own for each handle; torch reads this at the
  // first one and refuses to multiply without it.
  if (!c10::utils::has_env("CUBLAS_WORKSPACE_CONFIG"))
    c10::utils::set_env("CUBLAS_WORKSPACE_CONFIG", ":4096:8", /*overwrite=*/false);
  at::Context& context = at::globalContext();
  context.setDeterministicAlgorithms(true, /*warn_only=*/false);
  // A debugging aid that costs time: nothing here reads memory that it has not written.
  context.setDeterministicFillUninitializedMemory(false);
  context.setDeterministicCuDNN(true);
  context.setBenchmarkCuDNN(false);
}

}  // namespace expc::device
