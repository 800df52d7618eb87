#pragma once

// The parameters of llm.finetune as a trial's specification has them, and the decoder's options that follow from
// them. stdlib/llm.exp documents each one; defaults here and there must be equal, which a test checks.

#include <c10/core/ScalarType.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/text/dataset.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/dpo.h"
#include "runtime/worker/model/optimizer.h"
#include "runtime/worker/workload/workload.h"

namespace expc::workload::llm {

/// docs/semantics.md §3 to §6 define these: adapters, NF4, preferences, quantisation.
enum class Method { Full, Lora, Qlora, Qat, Dpo };
/// Whether ranks share the weights (fsdp) or each has all of them (ddp).
enum class Sharding { Fsdp, Ddp };
enum class OptimizerKind { AdamW, Sgd };

/// The rows that a quality trial evaluates: some of its data drawn by the seed, those of other files (a path as
/// written in the study), or those that a column marks.
struct ValidationChoice {
  std::string path, column;  // at most one is set
};

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
  ValidationChoice validation;
  int64_t evaluate_every = 0;  // steps between evaluations; 0: at the end, kEachEpoch: after each epoch
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
  // For quality trials: the schedule of the rate, and where it ends.
  optimizer::WarmupSchedule::Kind schedule = optimizer::WarmupSchedule::Kind::Cosine;
  int64_t warmup_steps = 100;
  double warmup_share = 0;   // of all steps; 0: warmup_steps counts
  double rate_floor = 0;     // the last rate, as a share of the highest
  double decay_share = 0.1;  // wsd: the share of all steps in which the rate falls
  int64_t max_steps = 0;     // 0: as many as the epochs have
  bool per_row = false;      // loss_per: rows rather than tokens weigh the same
  double weight_decay = 0.01;
  bool norms_decay = true;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double clip_norm = 0;   // 0: no clipping
  bool dpo_full = false;  // dpo_base: train every weight rather than adapters
  llama::DpoOptions preference;
  std::string reference;  // a folder, as written in the study; "": the model that the training starts from
  int64_t rank = 8;
  double alpha = 16;
  double dropout = 0;
  std::string targets = "qvo_mlp";
  std::vector<llama::Role> modules;  // with adapters; empty: as targets says
  std::vector<int64_t> layers;       // with adapters; empty: all
  std::vector<std::pair<llama::Role, double>> alphas;
  bool rslora = false, dora = false;
  std::vector<llama::Role> saved;  // modules_to_save
  std::string adapters;            // a folder, as written in the study; "": start from fresh adapters
  int64_t group_size = 256;
  std::string checkpoints;  // a folder, as written in the study; "": keep none
  bool merged = false;      // artefact: leave a model with adapters merged
  llama::QuantCopies qat_weights = llama::QuantCopies::Kept;

  static constexpr int64_t kEachEpoch = -1;

  bool hasAdapters() const {
    return method == Method::Lora || method == Method::Qlora || (method == Method::Dpo && !dpo_full);
  }
};

/// Names, types and defaults, in the order of stdlib/llm.exp.
std::vector<Param> declaredParameters();

/// Reads {"method":"lora","model":{"folder":["models/mine"]},…}. Absent parameters have their defaults. An error
/// names the parameter, its value and what it may be.
Expected<Parameters> readParameters(const json::Object& object);

/// The options of the decoder. Sharding needs the ranks, so Model::decoder() adds it.
llama::DecoderOptions decoderOptions(const Parameters& parameters, c10::Device device);

}  // namespace expc::workload::llm
