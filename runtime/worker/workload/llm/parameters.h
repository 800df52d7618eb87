#pragma once

// The parameters of llm.finetune as a trial's specification has them, and the decoder's options that follow from
// them. stdlib/llm.exp documents each one; defaults here and there must be equal, which a test checks.

#include <c10/core/ScalarType.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/data/text/dataset.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {

/// docs/semantics.md §3 to §6 define these: adapters, NF4, preferences, quantisation.
enum class Method { Full, Lora, Qlora, Qat, Dpo };
/// Whether ranks share the weights (fsdp) or each has all of them (ddp).
enum class Sharding { Fsdp, Ddp };
enum class OptimizerKind { AdamW, Sgd };

/// A named model, or a folder as written in the study.
struct ModelChoice {
  std::string name = "llama3_8b";  // "": take the folder
  std::string folder;
};

/// The rows: a folder or file as written in the study, or a number of made-up ones.
struct RowsChoice {
  std::string path;         // "": made-up rows
  int64_t synthetic = 500;  // their number, if there is no path
  bool longest = false;     // made-up rows are as long as max_length allows, instead of typical for the template
};

/// Values that readParameters() returns are in range and fit each other.
struct Parameters {
  Method method = Method::Lora;
  ModelChoice model;
  RowsChoice data;
  text::Template kind = text::Template::Instruct;
  int64_t row_limit = 0;  // 0: all rows
  std::string tokenizer;  // a file, as written in the study; "": the model's own
  std::string questions;  // a file or folder, as written in the study; "": none
  int64_t max_length = 512;
  bool packing = false;
  c10::ScalarType precision = c10::ScalarType::BFloat16;
  int64_t gpus = 1;
  Sharding sharding = Sharding::Fsdp;
  int64_t batch = 2;         // rows or pairs of one rank in a pass
  int64_t accumulation = 1;  // passes of a step
  bool activation_checkpointing = false;
  bool pin_memory = false;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double learning_rate = 3e-4;
  int64_t warmup_steps = 100;  // for quality trials
  double weight_decay = 0.01;
  double clip_norm = 0;   // 0: no clipping
  bool dpo_full = false;  // dpo_base: train every weight rather than adapters
  double beta = 0.1;
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::string targets = "qvo_mlp";
  std::string adapters;  // a folder, as written in the study; "": start from fresh adapters
  int64_t group_size = 256;
  std::string checkpoints;  // a folder, as written in the study; "": keep none
  bool merged = false;      // artefact: leave a model with adapters merged
  llama::QuantCopies qat_weights = llama::QuantCopies::Kept;

  bool hasAdapters() const {
    return method == Method::Lora || method == Method::Qlora || (method == Method::Dpo && !dpo_full);
  }
};

/// Names, types and defaults, in the order of stdlib/llm.exp.
std::vector<Param> declaredParameters();

/// Reads {"method":"lora","model":{"folder":["models/mine"]},…}. Absent parameters have their defaults. An error
/// names the parameter, its value and what it may be.
llvm::Expected<Parameters> readParameters(const llvm::json::Object& object);

/// The options of the decoder. Sharding needs the ranks, so Model::decoder() adds it.
llama::DecoderOptions decoderOptions(const Parameters& parameters, c10::Device device);

}  // namespace expc::workload::llm
