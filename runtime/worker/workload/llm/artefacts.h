#pragma once

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/workload/llm/parameters.h"

namespace expc::workload::llm {

/// Writes what was tuned into `folder`: `adapter/` in PEFT's form; `model/`, a folder of Hugging Face's, where every
/// weight was trained or adapters are to be merged; `int4.safetensors` of qat, with which the decoder's training ends.
/// Every rank calls it, the one that `writes` writes. Says what was written.
llvm::Expected<std::vector<std::string>> saveArtefacts(llama::Decoder& decoder, const Parameters& parameters,
                                                       const std::string& model_folder, const std::string& folder,
                                                       bool writes);

}  // namespace expc::workload::llm
