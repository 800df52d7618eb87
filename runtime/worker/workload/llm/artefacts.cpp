#include "runtime/worker/workload/llm/artefacts.h"

#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/model/state_file.h"

namespace expc::workload::llm {

llvm::Expected<std::vector<std::string>> saveArtefacts(llama::Decoder& decoder, const Parameters& parameters,
                                                       const std::string& model_folder, const std::string& folder,
                                                       bool writes) {
  std::vector<std::string> written;
  if (parameters.hasAdapters()) {
    const std::string path = folder + "/adapter";
    if (writes)
      if (auto error = llama::saveAdapter(path, decoder, model_folder)) return error;
    written.push_back("the trained adapters: " + path);
  }
  const bool whole = !parameters.hasAdapters() && parameters.method != Method::Qat;
  if (whole || parameters.merged) {
    const std::string path = folder + "/model";
    const auto weight = [&](const llama::TensorSpec& spec) { return decoder.mergedWeight(spec); };
    if (writes) {
      if (auto error =
              llama::writeFolder(path, decoder.config(), weight, parameters.precision, llama::Naming::HuggingFace))
        return error;
    } else {
      // A decoder that shards its weights gives each to all ranks at once.
      for (const llama::TensorSpec& spec : llama::weightSpecs(decoder.config())) weight(spec);
    }
    written.push_back("the trained model: " + path);
  }
  if (parameters.method == Method::Qat) {
    const std::string path = folder + "/int4.safetensors";
    decoder.convertToInt4();
    const std::vector<model::NamedTensor> state = decoder.state();
    if (writes) {
      auto digest = model::saveState(path, state);
      if (!digest) return digest.takeError();
    }
    written.push_back("the trained weights in 4 bits: " + path);
  }
  return written;
}

}  // namespace expc::workload::llm
