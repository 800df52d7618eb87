#include "runtime/worker/workload/llm/model.h"

#include <ATen/ops/empty.h>

#include <filesystem>

#include "runtime/worker/llama/random_weights.h"

namespace expc::workload::llm {

llvm::Expected<Model> Model::open(const Parameters& parameters, const std::string& root) {
  Model model;
  const ModelChoice& choice = parameters.model;
  if (choice.folder.empty()) {
    model.config_ = llama::namedConfig(choice.name).value();
  } else {
    model.path_ = std::filesystem::path(root) / choice.folder;
    auto folder = llama::Folder::open(model.path_);
    if (!folder) return llvm::createStringError("model: " + llvm::toString(folder.takeError()));
    model.config_ = folder->config();
    model.folder_ = std::move(*folder);
  }
  if (auto error = llama::checkOptions(model.config_, decoderOptions(parameters, c10::kCPU)))
    return llvm::createStringError("model " + (choice.folder.empty() ? choice.name : model.path_) + ": " +
                                   llvm::toString(std::move(error)));
  return model;
}

llama::WeightSource Model::weights(const Parameters& parameters, uint64_t seed, bool without_values) const {
  if (without_values)
    return [this, type = parameters.precision](const llama::TensorSpec& spec, int64_t, int64_t count) {
      return at::empty({count}, at::TensorOptions().dtype(folder_ ? folder_->type(spec) : type).device(at::kMeta));
    };
  return folder_ ? folder_->weights() : llama::randomWeights(seed, parameters.precision);
}

std::unique_ptr<llama::Decoder> Model::decoder(const Parameters& parameters, c10::Device device, uint64_t seed,
                                               comm::Communicator& communicator, bool without_values) const {
  llama::DecoderOptions options = decoderOptions(parameters, device);
  options.rank = communicator.rank();
  if (parameters.sharding == Sharding::Fsdp && communicator.worldSize() > 1)
    options.sharding = llama::Sharding{&communicator};
  return std::make_unique<llama::Decoder>(config_, options, seed, weights(parameters, seed, without_values));
}

}  // namespace expc::workload::llm
