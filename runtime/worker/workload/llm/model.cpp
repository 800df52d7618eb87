// Opens and makes the model, and the two estimates around it: the memory that it surely takes, and the operations
// that a step needs. Both are lower bounds by design, so a refusal or a utilisation never overstates.

#include "runtime/worker/workload/llm/model.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <filesystem>

#include "runtime/base/clock.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/serve/child.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {
namespace {

/// Bytes per weight of a product in NF4: half a byte of code, and its share of a block's scale and a group's factor.
constexpr double kNf4 = 0.5 + 1.0 / 64 + 4.0 / 16384;

/// Bytes of the gradient and the optimiser's state of a trained weight.
double ofTrained(const Parameters& parameters) {
  const auto element = double(c10::elementSize(parameters.precision));
  if (parameters.optimizer == OptimizerKind::Sgd) return element;
  // The optimiser keeps an fp32 copy and fp32 moments.
  const bool copied = parameters.precision == c10::ScalarType::Half;
  return element + (copied ? 12 : 2 * element);
}

/// Bytes of memory and swap; practically endless if the system does not say.
double hostMemory() {
  struct sysinfo info{};
  if (sysinfo(&info) != 0) return 1e30;
  return (double(info.totalram) + double(info.totalswap)) * info.mem_unit;
}

}  // namespace

Expected<Model> Model::open(const Parameters& parameters, const std::string& root) {
  Model model;
  const ModelChoice& choice = parameters.model;
  if (choice.folder.empty()) {
    model.config = llama::namedConfig(choice.name).value();
  } else {
    model.path = std::filesystem::path(root) / choice.folder;
    model.folder = TRY(prefixed("model", llama::Folder::open(model.path)));
    model.config = model.folder->config();
  }
  // Ask on behalf of the CPU: no reason depends on the device.
  TRY(prefixed("model " + (choice.folder.empty() ? choice.name : model.path),
               llama::checkOptions(model.config, decoderOptions(parameters, c10::kCPU))));
  return model;
}

std::unique_ptr<llama::Decoder> Model::decoder(const Parameters& parameters, c10::Device device, uint64_t seed,
                                               comm::Communicator& communicator, bool without_values) const {
  llama::DecoderOptions options = decoderOptions(parameters, device);
  options.rank = communicator.rank();
  if (parameters.sharding == Sharding::Fsdp && communicator.worldSize() > 1)
    options.sharding = llama::Sharding{&communicator};
  llama::WeightSource source = folder ? folder->weights() : llama::randomWeights(seed, parameters.precision);
  // Tensors without memory make the decoder allocate the same weights and leave them as they are.
  if (without_values)
    source = [this, type = parameters.precision](const llama::TensorSpec& spec, int64_t, int64_t count) {
      return at::empty({count}, at::TensorOptions().dtype(folder ? folder->type(spec) : type).device(at::kMeta));
    };
  return std::make_unique<llama::Decoder>(config, options, seed, source);
}

double leastBytes(const llama::Config& config, const Parameters& parameters, unsigned ranks) {
  double weights = 0, count = 0;
  for (const llama::TensorSpec& spec : llama::weightSpecs(config)) {
    const bool packed = parameters.method == Method::Qlora && llama::isBlockProduct(spec.role);
    const auto element = double(c10::elementSize(parameters.precision));
    count += double(spec.elements());
    weights += double(spec.elements()) * (packed ? kNf4 : element);
  }
  // Adapters are small, so their gradients and states are left out of the bound.
  const double trained = parameters.hasAdapters() ? 0 : count * ofTrained(parameters);
  return (weights + trained) / (parameters.sharding == Sharding::Fsdp ? ranks : 1);
}

std::string whyTooLarge(const llama::Config& config, const Parameters& parameters, unsigned ranks, unsigned local_ranks,
                        double memory) {
  const double each = leastBytes(config, parameters, ranks);
  if (each * local_ranks <= memory) return "";
  const char* held = parameters.hasAdapters() ? "weights" : "weights, gradients and the optimiser's state";
  return fmt::format(
      "the model does not fit: {} alone need {:.1f} GB on each of {} ranks, but the host has {:.1f} GB for {} of them: "
      "use a smaller model, precision = bf16 or method = qlora, or more hosts with sharding = fsdp",
      held, each / 1e9, ranks, memory / 1e9, local_ranks);
}

void requireFit(const llama::Config& config, const Parameters& parameters, unsigned ranks) {
  const std::string why = whyTooLarge(config, parameters, ranks, serve::localRanks(), hostMemory());
  if (!why.empty()) throw TooLarge(why);
}

NeededFlops::NeededFlops(const llama::Decoder& decoder) {
  const llama::Config& config = decoder.config();
  double weights = 0, adapters = 0;
  for (const llama::TensorSpec& spec : llama::weightSpecs(config))
    if (spec.role != llama::Role::Embedding && spec.role != llama::Role::Norm) weights += double(spec.elements());
  // A tied head multiplies with the embedding, which counts as a product there.
  if (config.tied) weights += double(config.vocabulary * config.width);
  double saved = 0;  // a head that is trained beside the adapters
  for (const auto& adapter : decoder.adapters())
    if (adapter.name != "tok_embeddings.weight")
      (adapter.name == "output.weight" ? saved : adapters) += double(adapter.tensor.numel());
  // Frozen weights take part twice (forward, gradient of the input), trained ones three times.
  per_token_ = 2 * weights * (decoder.options().lora ? 2 : 3) + 2 * adapters * 3 + 2 * saved;
  // Two products per layer, queries with keys and weights with values, two operations each; forward once, backward
  // twice.
  per_seen_ = 4.0 * double(config.queryWidth() * config.layers) * 3;
}

at::Tensor matrixOperand(int64_t size, const at::TensorOptions& options) { return at::randn({size, size}, options); }

double matrixRate(at::ScalarType dtype, at::Device device, const std::function<void()>& synchronize) {
  at::NoGradGuard no_grad;
  const int64_t size = device.is_cpu() ? 1024 : 8192;
  const double work = 2.0 * double(size) * double(size) * double(size);
  try {
    const auto options = at::TensorOptions(dtype).device(device);
    const at::Tensor a = matrixOperand(size, options), b = matrixOperand(size, options);
    at::Tensor c = at::mm(a, b);  // not timed: it sets up libraries and workspaces
    synchronize();
    double best = 0;
    const auto begin = base::Clock::now();
    // At least two products, at most 50; a slow CPU takes longer than the tenth of a second.
    for (int i = 0; i < 50 && (i < 2 || base::secondsSince(begin) < 0.1); ++i) {
      const auto start = base::Clock::now();
      at::mm_out(c, a, b);
      synchronize();
      best = std::max(best, work / base::secondsSince(start));
    }
    return best;
  } catch (const c10::OutOfMemoryError&) {
    return 0;
  }
}

}  // namespace expc::workload::llm
