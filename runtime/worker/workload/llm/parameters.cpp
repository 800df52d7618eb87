// The walk through the parameters of llm.finetune, which declares and reads them.

#include "runtime/worker/workload/llm/parameters.h"

#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::workload::llm {
namespace {

/// The model is a word or {"folder":[…]}, so it is read by hand.
void describeModel(ParameterTable& table, ModelChoice& model) {
  const llvm::json::Value* value = table.declare("model", "model", model.name);
  if (!value) return;
  if (const auto name = value->getAsString(); name && llama::namedConfig(*name)) {
    model.name = name->str();
    return;
  }
  const auto given = ParameterTable::variant(*value);
  const auto path = given && given->level == "folder" ? given->argument->getAsString() : std::nullopt;
  if (!path || path->empty())
    return table.fail("model", *value, R"(llama3_8b, llama3_2_3b, llama3_2_1b, tiny or {"folder":["a folder"]})");
  model = {"", path->str()};
}

/// The rows. `synthetic` keeps its default if the parameter is absent.
void describeRows(ParameterTable& table, RowsChoice& rows) {
  auto source =
      table.source("data", "rows", llvm::json::Object{{"synthetic", llvm::json::Array{rows.synthetic}}},
                   {"folder", "file"}, R"({"folder":["a folder"]}, {"file":["a file"]} or {"synthetic":[rows]})");
  if (!source) return;
  rows.path = std::move(source->path);
  if (rows.path.empty()) rows.synthetic = source->count;
}

/// Follows the order of stdlib/llm.exp, which a test compares.
void describeParameters(ParameterTable& table, Parameters& result) {
  table.word("method", result.method,
             {{"lora", Method::Lora},
              {"full", Method::Full},
              {"qlora", Method::Qlora},
              {"qat", Method::Qat},
              {"dpo", Method::Dpo}});
  describeModel(table, result.model);
  describeRows(table, result.data);
  using text::Template;
  table.word("template", result.kind,
             {{"instruct", Template::Instruct},
              {"grammar", Template::Grammar},
              {"summarize", Template::Summarize},
              {"plain", Template::Plain},
              {"chat", Template::Chat}});
  table.whole("row_limit", result.row_limit, 0, 1'000'000'000);
  table.path("tokenizer", result.tokenizer, "none", "file");
  table.path("questions", result.questions, "none", "file");
  table.whole("max_length", result.max_length, 16, 131072, "Tokens");
  table.flag("packing", result.packing);
  using c10::ScalarType;
  table.word("precision", result.precision,
             {{"bf16", ScalarType::BFloat16},
              {"fp64", ScalarType::Double},
              {"fp32", ScalarType::Float},
              {"fp16", ScalarType::Half}});
  table.whole("gpus", result.gpus, 1, 1024);
  table.declare("nodes", "int", 0);  // the engine places the ranks
  table.word("sharding", result.sharding, {{"fsdp", Sharding::Fsdp}, {"ddp", Sharding::Ddp}});
  table.whole("batch", result.batch, 1, 65536);
  table.whole("accumulation", result.accumulation, 1, 65536);
  table.flag("activation_checkpointing", result.activation_checkpointing);
  table.flag("pin_memory", result.pin_memory);
  table.word("optimizer", result.optimizer, {{"adamw", OptimizerKind::AdamW}, {"sgd", OptimizerKind::Sgd}});
  table.number("learning_rate", result.learning_rate, 0, 100);
  table.whole("warmup_steps", result.warmup_steps, 0, 1'000'000);
  table.number("weight_decay", result.weight_decay, 0, 1);
  table.number("clip_norm", result.clip_norm, 0, 1e6);
  table.word("dpo_base", result.dpo_full, {{"lora", false}, {"full", true}});
  table.number("beta", result.beta, 0, 10);
  table.whole("rank", result.rank, 1, 4096);
  table.number("alpha", result.alpha, 0, 65536);
  table.number("dropout", result.dropout, 0, 0.99);
  table.word("targets", result.targets,
             {{"qvo_mlp", "qvo_mlp"}, {"qv", "qv"}, {"qkvo_mlp", "qkvo_mlp"}, {"qvo_mlp_head", "qvo_mlp_head"}});
  table.path("adapters", result.adapters, "fresh", "folder");
  table.whole("group_size", result.group_size, 32, 256);
  if ((result.group_size & (result.group_size - 1)) != 0)
    table.fail("group_size", result.group_size, "32, 64, 128 or 256");
  using llama::QuantCopies;
  table.word("qat_weights", result.qat_weights, {{"kept", QuantCopies::Kept}, {"recomputed", QuantCopies::Recomputed}});
  table.path("checkpoints", result.checkpoints, "off", "folder");
  table.word("artefact", result.merged, {{"tuned", false}, {"merged", true}});
  // The only contradiction that can be seen without the model; others are found by llama::checkOptions.
  if (result.packing && result.method == Method::Dpo)
    table.fail("packing", true, "false with method dpo: a pair's answers are scored row by row");
}

}  // namespace

std::vector<Param> declaredParameters() { return declared(describeParameters); }

llvm::Expected<Parameters> readParameters(const llvm::json::Object& object) {
  return read("llm.finetune", object, describeParameters);
}

llama::DecoderOptions decoderOptions(const Parameters& parameters, c10::Device device) {
  llama::DecoderOptions options;
  options.dtype = parameters.precision;
  options.device = device;
  options.max_length = parameters.max_length;
  options.activation_checkpointing = parameters.activation_checkpointing;
  if (parameters.hasAdapters())
    options.lora = llama::LoraOptions{parameters.rank, parameters.alpha, parameters.dropout,
                                      llama::targetRoles(parameters.targets).value()};
  // Methods that the decoder knows as such; dpo differs only in its loss, which is the training's.
  options.nf4 = parameters.method == Method::Qlora;
  if (parameters.method == Method::Qat) options.qat = llama::QatOptions{parameters.group_size, parameters.qat_weights};
  return options;
}

}  // namespace expc::workload::llm
