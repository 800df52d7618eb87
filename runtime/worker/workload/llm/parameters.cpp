// The walk through the parameters of llm.finetune, which declares and reads them.

#include "runtime/worker/workload/llm/parameters.h"

#include <llvm/ADT/STLExtras.h>

#include "runtime/worker/workload/declared/parameter_table.h"

namespace expc::workload::llm {
namespace {

/// The model is a word or {"folder":[…]}, so it is read by hand.
void describeModel(ParameterTable& table, ModelChoice& model) {
  const json::Value* value = table.declare("model", "model", model.name);
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
      table.source("data", "rows", json::Object{{"synthetic", json::Array{rows.synthetic}}}, {"folder", "file"},
                   R"({"folder":["a folder"]}, {"file":["a file"]} or {"synthetic":[rows]})");
  if (!source) return;
  rows.path = std::move(source->path);
  if (rows.path.empty()) rows.synthetic = source->count;
}

/// The held-out rows: a word, or a level with a path or a column's name.
void describeValidation(ParameterTable& table, ValidationChoice& validation) {
  const json::Value* value = table.declare("validation", "validation", "tenth");
  if (!value || value->getAsString() == StringRef("tenth")) return;
  const auto given = ParameterTable::variant(*value);
  const std::string text = given ? given->argument->getAsString().value_or("").str() : "";
  const bool column = given && given->level == "column";
  if (text.empty() || (!column && given->level != "file" && given->level != "folder"))
    return table.fail("validation", *value,
                      R"("tenth", {"file":["a file"]}, {"folder":["a folder"]} or {"column":["a name"]})");
  (column ? validation.column : validation.path) = text;
}

/// The moments of evaluations: a word, or {"steps":[100]}.
void describeEvaluate(ParameterTable& table, int64_t& every) {
  const json::Value* value = table.declare("evaluate", "evaluate", "at_end");
  if (!value || value->getAsString() == StringRef("at_end")) return;
  if (value->getAsString() == StringRef("each_epoch")) every = Parameters::kEachEpoch;
  if (const auto given = ParameterTable::variant(*value); given && given->level == "steps")
    every = given->argument->getAsInteger().value_or(0);
  if (every < 1 && every != Parameters::kEachEpoch)
    table.fail("evaluate", *value, R"("at_end", "each_epoch" or {"steps":[a number from 1]})");
}

/// The schedule of the learning rate, the optimiser's own numbers, and the weight of rows in a step.
void describeSteps(ParameterTable& table, Parameters& result) {
  table.word("optimizer", result.optimizer, {{"adamw", OptimizerKind::AdamW}, {"sgd", OptimizerKind::Sgd}});
  table.number("learning_rate", result.learning_rate, 0, 100);
  using Kind = optimizer::WarmupSchedule::Kind;
  table.word(
      "schedule", result.schedule,
      {{"cosine", Kind::Cosine}, {"constant", Kind::Constant}, {"linear", Kind::Linear}, {"wsd", Kind::StableDecay}});
  table.whole("warmup_steps", result.warmup_steps, 0, 1'000'000);
  table.number("warmup_share", result.warmup_share, 0, 1);
  table.number("rate_floor", result.rate_floor, 0, 1);
  table.number("decay_share", result.decay_share, 0, 1);
  table.whole("max_steps", result.max_steps, 0, 1'000'000'000);
  table.word("loss_per", result.per_row, {{"token", false}, {"row", true}});
  table.number("weight_decay", result.weight_decay, 0, 1);
  table.word("decayed", result.norms_decay, {{"all", true}, {"matrices", false}});
  table.number("beta1", result.beta1, 0, 0.999999);
  table.number("beta2", result.beta2, 0, 0.999999);
  table.number("epsilon", result.epsilon, 0, 1);
  table.number("clip_norm", result.clip_norm, 0, 1e6);
}

/// DPO's loss and what it compares with.
void describePreference(ParameterTable& table, Parameters& result) {
  llama::DpoOptions& preference = result.preference;
  using Kind = llama::DpoOptions::Kind;
  table.word("dpo_base", result.dpo_full, {{"lora", false}, {"full", true}});
  table.word("dpo_loss", preference.kind, {{"sigmoid", Kind::Sigmoid}, {"ipo", Kind::Ipo}});
  table.number("beta", preference.beta, 0, 10);
  if (preference.beta == 0) table.fail("beta", 0, "above 0: it multiplies every reward");
  table.number("label_smoothing", preference.smoothing, 0, 0.5);
  table.flag("by_length", preference.by_length);
  // IPO's target is per token (TRL): sums would grow with the answers.
  preference.by_length |= preference.kind == Kind::Ipo;
  table.path("reference_model", result.reference, "start", "folder");
}

using RoleName = std::pair<StringRef, llama::Role>;
constexpr RoleName kModules[] = {{"q", llama::Role::Query},   {"k", llama::Role::Key},     {"v", llama::Role::Value},
                                 {"o", llama::Role::Output},  {"gate", llama::Role::Gate}, {"up", llama::Role::Up},
                                 {"down", llama::Role::Down}, {"head", llama::Role::Head}};
constexpr RoleName kSaved[] = {{"embedding", llama::Role::Embedding}, {"head", llama::Role::Head}};

/// The role of a word of the list; nothing for other values.
std::optional<llama::Role> roleOf(ArrayRef<RoleName> names, const json::Value& value) {
  for (const auto& [name, role] : names)
    if (value.getAsString() == name) return role;
  return std::nullopt;
}

/// A list, empty by default. `read` adds an element, and returns false for one that makes no sense or was there
/// already.
template <typename Read>
void describeList(ParameterTable& table, StringRef name, const char* type, const std::string& wanted, Read read) {
  const json::Value* value = table.declare(name, type, json::Array());
  if (!value) return;
  const json::Array* list = value->getAsArray();
  if (!list || !llvm::all_of(*list, read)) table.fail(name, *value, wanted);
}

/// Adds an element that is not in the list yet.
template <typename Element>
bool added(std::vector<Element>& list, const std::optional<Element>& element) {
  if (!element || is_contained(list, *element)) return false;
  list.push_back(*element);
  return true;
}

/// The adapters, and what is trained beside them.
void describeAdapters(ParameterTable& table, Parameters& result) {
  using json::Value;
  table.whole("rank", result.rank, 1, 4096);
  table.number("alpha", result.alpha, 0, 65536);
  table.number("dropout", result.dropout, 0, 0.99);
  describeList(table, "modules", "list(module)", R"(a list of "q", "k", "v", "o", "gate", "up", "down", "head")",
               [&](const Value& one) { return added(result.modules, roleOf(kModules, one)); });
  table.word("targets", result.targets,
             {{"qvo_mlp", "qvo_mlp"}, {"qv", "qv"}, {"qkvo_mlp", "qkvo_mlp"}, {"qvo_mlp_head", "qvo_mlp_head"}});
  describeList(table, "adapted_layers", "list(int)", "a list of layers, counted from 0",
               [&](const Value& one) { return added(result.layers, one.getAsInteger()); });
  describeList(table, "alphas", "list((module, float))", R"(a list of pairs such as ["q", 32])", [&](const Value& one) {
    const auto* pair = one.getAsArray();
    const auto role = pair && pair->size() == 2 ? roleOf(kModules, (*pair)[0]) : std::nullopt;
    const auto alpha = role ? (*pair)[1].getAsNumber() : std::nullopt;
    if (!alpha || *alpha < 0) return false;
    result.alphas.emplace_back(*role, *alpha);
    return true;
  });
  table.flag("rslora", result.rslora);
  table.flag("dora", result.dora);
  describeList(table, "modules_to_save", "list(saved)", R"(a list of "embedding" and "head")",
               [&](const Value& one) { return added(result.saved, roleOf(kSaved, one)); });
  if (!result.saved.empty() && result.gpus > 1 && result.sharding == Sharding::Fsdp)
    table.fail("sharding", "fsdp", "ddp where modules_to_save are trained on several ranks");
  table.path("adapters", result.adapters, "fresh", "folder");
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
  describeValidation(table, result.validation);
  describeEvaluate(table, result.evaluate_every);
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
  describeSteps(table, result);
  describePreference(table, result);
  describeAdapters(table, result);
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
  if (result.packing && result.per_row)
    table.fail("packing", true, "false with loss_per row: a pack's rows are one row of the batch");
}

}  // namespace

std::vector<Param> declaredParameters() { return declared(describeParameters); }

Expected<Parameters> readParameters(const json::Object& object) {
  return read("llm.finetune", object, describeParameters);
}

llama::DecoderOptions decoderOptions(const Parameters& parameters, c10::Device device) {
  // Methods that the decoder knows as such; dpo differs only in its loss, which is the training's.
  llama::DecoderOptions options{.dtype = parameters.precision,
                                .device = device,
                                .max_length = parameters.max_length,
                                .nf4 = parameters.method == Method::Qlora,
                                .activation_checkpointing = parameters.activation_checkpointing};
  if (parameters.hasAdapters())
    options.lora = llama::LoraOptions{
        .rank = parameters.rank,
        .alpha = parameters.alpha,
        .dropout = parameters.dropout,
        .targets = parameters.modules.empty() ? llama::targetRoles(parameters.targets).value() : parameters.modules,
        .layers = parameters.layers,
        .alphas = parameters.alphas,
        .rank_stabilised = parameters.rslora,
        .dora = parameters.dora,
        .saved = parameters.saved};
  if (parameters.method == Method::Qat) options.qat = llama::QatOptions{parameters.group_size, parameters.qat_weights};
  return options;
}

}  // namespace expc::workload::llm
