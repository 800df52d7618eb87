#pragma once

// The parameters of llm.finetune as they cross in a trial's specification.

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

enum class Method { Full, Lora, Qlora, Qat, Dpo };
enum class Sharding { Fsdp, Ddp };
enum class OptimizerKind { AdamW, Sgd };

/// A model by name, or a folder as written in the study.
struct ModelChoice {
  std::string name = "llama3_8b";  // "": the folder
  std::string folder;
};

/// Rows: a path as written in the study (a folder or a file), or so many made up.
struct RowsChoice {
  std::string path;         // "": made up
  int64_t synthetic = 500;  // where there is no path
  bool longest = false;     // made-up rows are as long as max_length, instead of like the template's
};

struct Parameters {
  Method method = Method::Lora;
  ModelChoice model;
  RowsChoice data;
  text::Template kind = text::Template::Instruct;
  int64_t row_limit = 0;  // 0: all
  std::string tokenizer;  // a file, as written in the study; "": the model's own
  int64_t max_length = 512;
  bool packing = false;
  c10::ScalarType precision = c10::ScalarType::BFloat16;
  int64_t gpus = 1;
  Sharding sharding = Sharding::Fsdp;
  int64_t batch = 2;  // rows or pairs of a pass of one rank
  int64_t accumulation = 1;
  bool activation_checkpointing = false;
  bool pin_memory = false;
  OptimizerKind optimizer = OptimizerKind::AdamW;
  double learning_rate = 3e-4;
  int64_t warmup_steps = 100;  // of quality trials
  double weight_decay = 0.01;
  double clip_norm = 0;   // 0: gradients are left as they are
  bool dpo_full = false;  // dpo_base
  double beta = 0.1;
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::string targets = "qvo_mlp";
  std::string adapters;  // a folder, as written in the study; "": fresh ones
  int64_t group_size = 256;
  std::string checkpoints;  // a folder, as written in the study; "": none are kept
  bool merged = false;      // artefact
  llama::QuantCopies qat_weights = llama::QuantCopies::Kept;

  bool hasAdapters() const {
    return method == Method::Lora || method == Method::Qlora || (method == Method::Dpo && !dpo_full);
  }
};

/// Names, types and defaults, in the order of stdlib/llm.exp.
std::vector<Param> declaredParameters();

/// Reads {"method":"lora","model":{"folder":["models/mine"]},…}. Absent ones have their default. The error names the
/// parameter, what it is and what it may be.
llvm::Expected<Parameters> readParameters(const llvm::json::Object& object);

/// What the decoder is made with.
llama::DecoderOptions decoderOptions(const Parameters& parameters, c10::Device device);

}  // namespace expc::workload::llm
