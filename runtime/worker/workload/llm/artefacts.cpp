// What a fine-tuning leaves in the folder of its trial.

#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <cassert>

#include "runtime/files/files.h"
#include "runtime/worker/comm/alone.h"
#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/model/state_file.h"
#include "runtime/worker/workload/checkpoint.h"
#include "runtime/worker/workload/llm/training.h"

namespace expc::workload::llm {
namespace {

constexpr const char* kVocabularies[] = {"tokenizer.json", "tokenizer.model", "original/tokenizer.model"};
constexpr const char* kBesideVocabulary[] = {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
                                             "chat_template.jinja", "generation_config.json"};

llvm::Error write(const llvm::MemoryBuffer& content, const std::string& to) {
  const std::string folder = llvm::sys::path::parent_path(to).str();
  if (const auto error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(folder + ": " + error.message());
  return files::write(to, content.getBuffer());
}

llvm::Error copyIfThere(const std::string& from, const std::string& to, const char* name) {
  const std::string path = from + "/" + name;
  if (!llvm::sys::fs::is_regular_file(path)) return llvm::Error::success();
  auto content = files::map(path);
  if (!content) return content.takeError();
  return write(**content, to + "/" + name);
}

/// Copies to the folder `to` what transformers reads beside a model's weights: the files of the tokenizer, with a named
/// one in place of the model folder's, and generation_config.json. What is not there is left out; `to` is there.
llvm::Error copyTokenizer(const Origin& origin, const std::string& to) {
  if (!origin.model_folder.empty())
    for (const char* name : kBesideVocabulary)
      if (auto error = copyIfThere(origin.model_folder, to, name)) return error;
  if (origin.tokenizer.empty()) {
    if (!origin.model_folder.empty())
      for (const char* name : kVocabularies)
        if (auto error = copyIfThere(origin.model_folder, to, name)) return error;
    return llvm::Error::success();
  }
  auto content = files::map(origin.tokenizer);
  if (!content) return content.takeError();
  const bool json = (*content)->getBuffer().ltrim().starts_with("{");
  return write(**content, to + "/" + kVocabularies[json ? 0 : 1]);
}

/// `model/`, as transformers loads it.
llvm::Error saveModel(llama::Decoder& decoder, const Parameters& parameters, const Origin& origin,
                      const std::string& path, comm::Communicator& communicator) {
  // A decoder that shards its weights gives each to all ranks at once, whatever they do with it.
  const bool sharded = decoder.options().sharding.has_value();
  const std::vector<llama::TensorSpec> specs = llama::weightSpecs(decoder.config());
  size_t next = 0;
  return comm::whileOneWorks(
      communicator, 0,
      [&](const comm::CallOthers& call_others) -> llvm::Error {
        const auto weight = [&](const llama::TensorSpec& spec) {
          assert(spec.index == specs[next].index && "asked for in their order");
          ++next;
          if (sharded) call_others();
          return decoder.mergedWeight(spec);
        };
        if (auto error = llama::writeFolder(path, decoder.config(), weight, parameters.precision, origin.naming))
          return error;
        return copyTokenizer(origin, path);
      },
      [&] { decoder.weight(specs[next++]); });
}

/// `int4/`. It has no config.json: transformers, which knows none of its names, would take a model without weights.
llvm::Error saveInt4(llama::Decoder& decoder, const Origin& origin, const std::string& path,
                     comm::Communicator& communicator) {
  decoder.convertToInt4();
  std::vector<model::NamedTensor> state;
  decoder.eachOfState([&](const model::NamedTensor& entry) {
    if (communicator.rank() == 0)
      state.push_back({entry.name, entry.tensor.to(at::kCPU, /*non_blocking=*/false, /*copy=*/true)});
  });
  return comm::whileOneWorks(communicator, 0, [&](const comm::CallOthers&) -> llvm::Error {
    if (const auto error = llvm::sys::fs::create_directories(path))
      return llvm::createStringError(path + ": " + error.message());
    auto digest = model::saveState(path + "/model.safetensors", state);
    if (!digest) return digest.takeError();
    return copyTokenizer(origin, path);
  });
}

}  // namespace

/// Writes `adapter/` in PEFT's form; `model/`, a folder of Hugging Face's, where every weight was trained or adapters are
/// to be merged; `int4/` of qat, with which the decoder's training ends. The latter two have the files of the tokenizer
/// beside the weights. The first rank writes, and the others wait for as long as that takes.
llvm::Expected<std::vector<std::string>> Training::leave(const CheckpointFolder& checkpoints, int64_t) {
  const std::string& folder = checkpoints.path();
  comm::Communicator& communicator = context_.communicator;
  std::vector<std::string> written;
  if (parameters_.hasAdapters()) {
    const std::string path = folder + "/adapter";
    // Without a tokenizer: PEFT takes the base's, and one here for a reason to change the size of the embedding.
    const auto save = [&](const comm::CallOthers&) { return llama::saveAdapter(path, *decoder_, origin_.model_folder); };
    if (auto error = comm::whileOneWorks(communicator, 0, save)) return error;
    written.push_back("the trained adapters: " + path);
  }
  const bool whole = !parameters_.hasAdapters() && parameters_.method != Method::Qat;
  if (whole || parameters_.merged) {
    const std::string path = folder + "/model";
    if (auto error = saveModel(*decoder_, parameters_, origin_, path, communicator)) return error;
    written.push_back("the trained model: " + path);
  }
  if (parameters_.method == Method::Qat) {
    const std::string path = folder + "/int4";
    if (auto error = saveInt4(*decoder_, origin_, path, communicator)) return error;
    written.push_back("the trained weights in 4 bits: " + path);
  }
  if (communicator.rank() == 0) checkpoints.clear();
  return written;
}

}  // namespace expc::workload::llm
