#include <doctest/doctest.h>

#include "runtime/worker/workload/llm/model.h"

namespace expc::workload::llm {
namespace {

Parameters of(Method method, c10::ScalarType precision) {
  Parameters parameters;
  parameters.method = method;
  parameters.precision = precision;
  return parameters;
}

TEST_CASE("what a rank surely holds is counted") {
  const llama::Config model = llama::namedConfig("llama3_8b").value();
  const double weights = 8030261248;
  CHECK(leastBytes(model, of(Method::Lora, at::kBFloat16), 1) == 2 * weights);
  CHECK(leastBytes(model, of(Method::Full, at::kFloat), 1) == 16 * weights);
  CHECK(leastBytes(model, of(Method::Qat, at::kFloat), 4) == 4 * weights);
  CHECK(leastBytes(model, of(Method::Full, at::kHalf), 1) == 16 * weights);
  Parameters whole = of(Method::Full, at::kBFloat16);
  whole.sharding = Sharding::Ddp;
  whole.optimizer = OptimizerKind::Sgd;
  CHECK(leastBytes(model, whole, 4) == 4 * weights);
  // docs/memory-model.md: half a byte and a little of the products, the rest as it is.
  const double packed = leastBytes(model, of(Method::Qlora, at::kFloat), 1);
  CHECK(packed > 6979321856 * 0.515 + 1050939392 * 4.0);
  CHECK(packed < 6979321856 * 0.516 + 1051365376 * 4.0);
}

TEST_CASE("what cannot fit is said with the way out") {
  const llama::Config model = llama::namedConfig("llama3_8b").value();
  const Parameters full = of(Method::Full, at::kFloat);
  CHECK(whyTooLarge(model, full, 4, 2, 65e9) == "");
  CHECK(
      whyTooLarge(model, full, 4, 2, 64e9) ==
      "the model does not fit: weights, gradients and the optimiser's state alone need 32.1 GB on each of 4 ranks, but "
      "the host has 64.0 GB for 2 of them: use a smaller model, precision = bf16 or method = qlora, or more hosts with "
      "sharding = fsdp");
}

}  // namespace
}  // namespace expc::workload::llm
