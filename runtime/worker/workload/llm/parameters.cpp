#include "runtime/worker/workload/llm/parameters.h"

#include <array>

#include "runtime/worker/workload/parameter_reader.h"

namespace expc::workload::llm {
namespace {

using llvm::json::Object;
using llvm::json::Value;

void readModel(ParameterReader& reader, ModelChoice& model) {
  const Value* value = reader.get("model");
  if (!value) return;
  const std::string wanted = R"(llama3_8b, llama3_2_3b, llama3_2_1b, tiny or {"folder":["a folder"]})";
  if (const auto name = value->getAsString()) {
    if (!llama::namedConfig(*name)) return reader.fail("model", *value, wanted);
    model.name = name->str();
    return;
  }
  const auto given = reader.variant("model");
  const auto path = given && given->level == "folder" ? given->argument->getAsString() : std::nullopt;
  if (!path || path->empty()) return reader.fail("model", *value, wanted);
  model = {"", path->str()};
}

void readRows(ParameterReader& reader, RowsChoice& rows) {
  const Value* value = reader.get("data");
  if (!value) return;
  const std::string wanted = R"({"folder":["a folder"]}, {"file":["a file"]} or {"synthetic":[rows]})";
  const auto given = reader.variant("data");
  if (!given) return reader.fail("data", *value, wanted);
  const auto path = given->argument->getAsString();
  if ((given->level == "folder" || given->level == "file") && path && !path->empty()) {
    rows.path = path->str();
    return;
  }
  const Object count{{"rows", *given->argument}};
  ParameterReader counted(count, "parameter data:");
  rows.synthetic = counted.whole("rows", 1, 1, 10'000'000);
  auto error = counted.take();
  if (error || given->level != "synthetic") reader.fail("data", *value, wanted);
  llvm::consumeError(std::move(error));
}

void readAdapters(ParameterReader& reader, Parameters& result) {
  result.rank = reader.whole("rank", result.rank, 1, 4096);
  result.alpha = reader.number("alpha", result.alpha, 0, 65536);
  result.dropout = reader.number("dropout", result.dropout, 0, 0.99);
  constexpr std::array kTargets = {"qvo_mlp", "qv", "qkvo_mlp", "qvo_mlp_head"};
  result.targets = kTargets[reader.word("targets", {kTargets[0], kTargets[1], kTargets[2], kTargets[3]})];
  result.adapters = reader.path("adapters", "fresh", "folder");
}

}  // namespace

std::vector<Param> declaredParameters() {
  const Parameters defaults;
  return {{"method", "method", "lora"},
          {"model", "model", defaults.model.name},
          {"data", "rows", Object{{"synthetic", llvm::json::Array{defaults.data.synthetic}}}},
          {"template", "template", "instruct"},
          {"row_limit", "int", defaults.row_limit},
          {"tokenizer", "tokenizer", "none"},
          {"max_length", "Tokens", defaults.max_length},
          {"packing", "bool", defaults.packing},
          {"precision", "precision", "bf16"},
          {"gpus", "int", defaults.gpus},
          {"nodes", "int", 0},  // the engine places the ranks
          {"sharding", "sharding", "fsdp"},
          {"batch", "int", defaults.batch},
          {"accumulation", "int", defaults.accumulation},
          {"activation_checkpointing", "bool", defaults.activation_checkpointing},
          {"pin_memory", "bool", defaults.pin_memory},
          {"optimizer", "optimizer", "adamw"},
          {"learning_rate", "float", defaults.learning_rate},
          {"warmup_steps", "int", defaults.warmup_steps},
          {"weight_decay", "float", defaults.weight_decay},
          {"clip_norm", "float", defaults.clip_norm},
          {"dpo_base", "dpo_base", "lora"},
          {"beta", "float", defaults.beta},
          {"rank", "int", defaults.rank},
          {"alpha", "float", defaults.alpha},
          {"dropout", "float", defaults.dropout},
          {"targets", "targets", defaults.targets},
          {"adapters", "adapters", "fresh"},
          {"group_size", "int", defaults.group_size},
          {"qat_weights", "qat_weights", "kept"},
          {"checkpoints", "checkpoints", "off"},
          {"artefact", "artefact", "tuned"}};
}

llvm::Expected<Parameters> readParameters(const Object& object) {
  ParameterReader reader(object, "parameter");
  Parameters result;
  result.method = std::array{Method::Lora, Method::Full, Method::Qlora, Method::Qat,
                             Method::Dpo}[reader.word("method", {"lora", "full", "qlora", "qat", "dpo"})];
  readModel(reader, result.model);
  readRows(reader, result.data);
  using text::Template;
  result.kind = std::array{Template::Instruct, Template::Grammar, Template::Summarize,
                           Template::Plain}[reader.word("template", {"instruct", "grammar", "summarize", "plain"})];
  result.row_limit = reader.whole("row_limit", result.row_limit, 0, 1'000'000'000);
  result.tokenizer = reader.path("tokenizer", "none", "file");
  result.max_length = reader.whole("max_length", result.max_length, 16, 131072);
  result.packing = reader.flag("packing", result.packing);
  using c10::ScalarType;
  result.precision = std::array{ScalarType::BFloat16, ScalarType::Double, ScalarType::Float,
                                ScalarType::Half}[reader.word("precision", {"bf16", "fp64", "fp32", "fp16"})];
  result.gpus = reader.whole("gpus", result.gpus, 1, 1024);
  result.sharding = reader.word("sharding", {"fsdp", "ddp"}) == 1 ? Sharding::Ddp : Sharding::Fsdp;
  result.batch = reader.whole("batch", result.batch, 1, 65536);
  result.accumulation = reader.whole("accumulation", result.accumulation, 1, 65536);
  result.activation_checkpointing = reader.flag("activation_checkpointing", result.activation_checkpointing);
  result.pin_memory = reader.flag("pin_memory", result.pin_memory);
  result.optimizer = reader.word("optimizer", {"adamw", "sgd"}) == 1 ? OptimizerKind::Sgd : OptimizerKind::AdamW;
  result.learning_rate = reader.number("learning_rate", result.learning_rate, 0, 100);
  result.warmup_steps = reader.whole("warmup_steps", result.warmup_steps, 0, 1'000'000);
  result.weight_decay = reader.number("weight_decay", result.weight_decay, 0, 1);
  result.clip_norm = reader.number("clip_norm", result.clip_norm, 0, 1e6);
  result.dpo_full = reader.word("dpo_base", {"lora", "full"}) == 1;
  result.beta = reader.number("beta", result.beta, 0, 10);
  readAdapters(reader, result);
  result.group_size = reader.whole("group_size", result.group_size, 32, 256);
  if ((result.group_size & (result.group_size - 1)) != 0)
    reader.fail("group_size", result.group_size, "32, 64, 128 or 256");
  result.qat_weights = reader.word("qat_weights", {"kept", "recomputed"}) == 1 ? llama::QuantCopies::Recomputed
                                                                               : llama::QuantCopies::Kept;
  result.checkpoints = reader.path("checkpoints", "off", "folder");
  result.merged = reader.word("artefact", {"tuned", "merged"}) == 1;
  if (result.packing && result.method == Method::Dpo)
    reader.fail("packing", true, "false with method dpo: a pair's answers are scored row by row");
  if (auto error = reader.take()) return error;
  return result;
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
  options.nf4 = parameters.method == Method::Qlora;
  if (parameters.method == Method::Qat) options.qat = llama::QatOptions{parameters.group_size, parameters.qat_weights};
  return options;
}

}  // namespace expc::workload::llm
