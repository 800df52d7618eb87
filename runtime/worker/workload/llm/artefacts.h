#pragma once

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// Where what was tuned came from.
struct Origin {
  std::string model_folder;                           // "": a named model
  llama::Naming naming = llama::Naming::HuggingFace;  // of the tensors in it, and in a model that is written
  std::string tokenizer;                              // the file that the study names; "": the model folder's own
};

/// Writes what was tuned into `folder`: `adapter/` in PEFT's form; `model/`, a folder of Hugging Face's, where every
/// weight was trained or adapters are to be merged; `int4/` of qat, with which the decoder's training ends. The latter
/// two have the files of the tokenizer beside the weights. Every rank calls it; the first writes, and the others wait
/// for as long as that takes. Says what was written.
llvm::Expected<std::vector<std::string>> saveArtefacts(llama::Decoder& decoder, const Parameters& parameters,
                                                       const Origin& origin, const std::string& folder,
                                                       comm::Communicator& communicator);

/// Copies to the folder `to` what transformers reads beside a model's weights: the files of the tokenizer, with a named
/// one in place of the model folder's, and generation_config.json. What is not there is left out; `to` is there.
llvm::Error copyTokenizer(const Origin& origin, const std::string& to);

}  // namespace expc::workload::llm
