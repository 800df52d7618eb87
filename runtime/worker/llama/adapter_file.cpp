// Reads and writes PEFT adapters. PEFT's configuration has many fields that change what an adapter computes, and new
// versions add more. So a field that this file does not know must be unset: to compute something else in silence
// would be worse than to refuse.

#include "runtime/worker/llama/adapter_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/word.h"
#include "runtime/data/model/llama.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/model/state_file.h"

namespace expc::llama {
namespace {

constexpr char kConfig[] = "/adapter_config.json";
constexpr char kWeights[] = "/adapter_model.safetensors";
constexpr llvm::StringLiteral kPrefix = "base_model.model.";

/// Hugging Face's names of the kinds of modules, without their places in the model.
constexpr base::Word<Role> kModules[] = {
    {"embed_tokens", Role::Embedding}, {"norm", Role::Norm},      {"lm_head", Role::Head},
    {"q_proj", Role::Query},           {"k_proj", Role::Key},     {"v_proj", Role::Value},
    {"o_proj", Role::Output},          {"gate_proj", Role::Gate}, {"up_proj", Role::Up},
    {"down_proj", Role::Down}};

using Names = std::set<std::string>;

Names modulesOf(const std::vector<Role>& roles) {
  Names names;
  for (const Role role : roles) names.insert(base::wordOf(kModules, role).str());
  return names;
}

/// The alphas of modules that have one of their own, under the modules' names.
json::Object alphaPattern(const LoraOptions& lora) {
  json::Object pattern;
  for (const auto& [role, alpha] : lora.alphas) pattern[base::wordOf(kModules, role)] = alpha;
  return pattern;
}

/// Fields of adapter_config.json (peft 0.18) that do not change what a trained adapter computes: where it came from
/// and how it was trained. differences() compares others. A field that matters is in neither list, and must not be
/// set.
constexpr llvm::StringLiteral kHarmless[] = {
    "auto_mapping", "base_model_name_or_path", "corda_config", "eva_config",        "inference_mode", "loftq_config",
    "lora_dropout", "megatron_core",           "peft_version", "qalora_group_size", "revision",       "runtime_config",
    "task_type"};

/// Whether the matrices' initialisation left the base weights as they were. "pissa", "olora", "corda", "loftq" and
/// the like changed the base as well, so the adapter fits only a base that we do not have.
bool leavesTheBase(const json::Value& init) {
  const auto name = init.getAsString();
  return init.getAsNull() || init.getAsBoolean() ||
         (name && (*name == "gaussian" || *name == "eva" || *name == "orthogonal"));
}

/// Whether a value means the same as a missing field: null, false, an empty value, or bias = "none".
bool isUnset(const json::Value& value) {
  const auto* list = value.getAsArray();
  const auto* object = value.getAsObject();
  const auto text = value.getAsString();
  return value.getAsNull() || value.getAsBoolean() == false || (list && list->empty()) || (object && object->empty()) ||
         (text && (text->empty() || *text == "none"));
}

/// The texts of a list; nothing for any other value, since a text would be a pattern.
std::optional<Names> namesIn(const json::Value& value) {
  const auto* list = value.getAsArray();
  if (!list) return std::nullopt;
  Names names;
  for (const json::Value& one : *list) {
    const auto name = one.getAsString();
    if (!name) return std::nullopt;
    names.insert(name->str());
  }
  return names;
}

/// Whether a list names exactly the layers with adapters.
bool namesLayers(const json::Value& value, const LoraOptions& lora, int64_t layers) {
  const auto* list = value.getAsArray();
  std::set<int64_t> named, own(lora.layers.begin(), lora.layers.end());
  for (int64_t layer = 0; own.size() < size_t(layers) && lora.layers.empty(); ++layer) own.insert(layer);
  if (const auto one = value.getAsInteger()) named.insert(*one);
  for (const json::Value& one : list ? *list : json::Array()) named.insert(one.getAsInteger().value_or(-1));
  return named == own;
}

/// Whether what adapters of this decoder compute is what a field says.
bool fits(StringRef key, const json::Value& value, const LoraOptions& lora, const Names& targets, int64_t layers) {
  if (key == "init_lora_weights") return leavesTheBase(value);
  if (key == "use_rslora" && !isUnset(value)) return value == json::Value(lora.rank_stabilised);
  if (key == "use_dora" && !isUnset(value)) return value == json::Value(lora.dora);
  if (key == "use_rslora" || key == "use_dora") return !(key == "use_dora" ? lora.dora : lora.rank_stabilised);
  if (key == "layers_to_transform") return isUnset(value) ? lora.layers.empty() : namesLayers(value, lora, layers);
  if (key == "modules_to_save") return isUnset(value) ? lora.saved.empty() : namesIn(value) == modulesOf(lora.saved);
  if (key == "alpha_pattern") return isUnset(value) ? lora.alphas.empty() : value == json::Value(alphaPattern(lora));
  if (isUnset(value)) return true;
  if (key == "layers_pattern")
    return !lora.layers.empty() && (namesIn(value) == Names{"layers"} || value == json::Value("layers"));
  // Compared in differences(), which takes the excluded ones off: names such as q_proj and self_attn.q_proj, which
  // mean those of all layers.
  if (key == "exclude_modules")
    return llvm::all_of(namesIn(value).value_or(Names{"."}),
                        [](StringRef name) { return name.count('.') < 2 && !name.ends_with("."); });
  constexpr size_t kLinear = 7;  // modules of a layer that "all-linear" means
  return key == "target_modules" && (namesIn(value) || (value == json::Value("all-linear") &&
                                                        targets.size() == kLinear && !targets.count("lm_head")));
}

/// All that makes adapter_config.json unfit for the decoder's adapters; empty if it fits.
std::vector<std::string> differences(const json::Object& json, const Decoder& decoder) {
  const LoraOptions& lora = *decoder.options().lora;
  std::vector<std::string> wrong;
  const auto number = [&](const char* key, double own) {
    const auto value = json.getNumber(key);
    if (!value)
      wrong.push_back(fmt::format("no {}", key));
    else if (*value != own)
      wrong.push_back(fmt::format("{} is {}, expected {}", key, *value, own));
  };
  number("r", double(lora.rank));
  number("lora_alpha", lora.alpha);
  if (const auto type = json.getString("peft_type"); type && *type != "LORA")
    wrong.push_back(fmt::format("peft_type is {}, expected LORA", type->take_front(32)));
  const Names own = modulesOf(lora.targets);
  const json::Value* exclude = json.get("exclude_modules");
  const Names excluded = exclude ? namesIn(*exclude).value_or(Names()) : Names();
  if (const auto* targets = json.get("target_modules"); targets && namesIn(*targets)) {
    Names theirs = *namesIn(*targets);
    for (const StringRef name : excluded) theirs.erase(name.substr(name.rfind('.') + 1).str());
    if (theirs != own)
      wrong.push_back(fmt::format("target_modules{} are {}, expected {}",
                                  excluded.empty() ? "" : " without exclude_modules", fmt::join(theirs, ", "),
                                  fmt::join(own, ", ")));
  }
  constexpr llvm::StringLiteral kCompared[] = {"r", "lora_alpha", "peft_type"};
  // Fields that a study sets, so a missing one means that the file's adapters do without.
  json::Object all = json;
  for (const char* key : {"use_rslora", "use_dora", "layers_to_transform", "modules_to_save", "alpha_pattern"})
    all.try_emplace(key, nullptr);
  // Sorted by name, so that the message does not depend on the file's order.
  std::map<std::string, std::string> unknown;
  for (const auto& [key, value] : all) {
    if (is_contained(kHarmless, StringRef(key)) || is_contained(kCompared, StringRef(key)) ||
        fits(key, value, lora, own, decoder.config().layers))
      continue;
    unknown[key.str()] = canonicalJson(value);
  }
  constexpr size_t kShown = 48;  // characters of a value
  for (const auto& [key, value] : unknown)
    wrong.push_back(fmt::format("{} is {}, which changes what an adapter does and is not supported or not asked for",
                                key, value.size() > kShown ? json::fixUTF8(value.substr(0, kShown)) + "…" : value));
  return wrong;
}

/// Whether the tensor has rows in the order of q or k: the second matrix B and magnitudes. The first one's rows are
/// the rank's.
bool permuted(StringRef name) {
  return (name.contains("attn.q_proj.") || name.contains("attn.k_proj.")) && !name.contains(".lora_a.");
}

}  // namespace

std::string peftName(const std::string& torchtune) {
  std::string name = huggingFaceName(torchtune).value();
  for (const char* matrix : {".lora_a.", ".lora_b."})
    if (const size_t at = name.rfind(matrix); at != std::string::npos) {
      const size_t letter = at + StringRef(".lora_").size();
      name[letter] = llvm::toUpper(name[letter]);
    }
  return kPrefix.str() + name;
}

Error loadAdapter(const std::string& folder, Decoder& decoder) {
  assert(decoder.options().lora && "a decoder with adapters");
  const std::string path = folder + kConfig;
  auto json = TRY(readJsonFile(path));
  const auto* object = json.getAsObject();
  if (!object) return failure("{}: expected an object", path);
  const auto wrong = differences(*object, decoder);
  if (!wrong.empty()) return failure("{}: {}", path, fmt::join(wrong, "; "));

  auto file = TRY(safetensors::File::open(folder + kWeights));
  // Load into tensors of their own first: an error must change nothing, and rows may have to be permuted.
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters())
    state.push_back({peftName(entry.name), at::empty_like(entry.tensor, at::TensorOptions().device(at::kCPU))});
  TRY(model::loadState(file, state));
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) {
    const model::NamedTensor entry = decoder.adapters()[i];
    // Rows of q and k change their order as they are copied.
    const bool moves = permuted(entry.name);
    at::Tensor(entry.tensor)
        .copy_(moves ? rowsFromHuggingFace(state[i].tensor, decoder.config().head_width) : state[i].tensor);
  }
  return Error::success();
}

Error saveAdapter(const std::string& folder, const Decoder& decoder, const std::string& base) {
  assert(decoder.options().lora && "a decoder with adapters");
  // The folder may be there already, as the one of an earlier epoch.
  TRY(model::makeFolder(folder));
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters()) {
    const at::Tensor tensor = entry.tensor.detach();
    state.push_back(
        {peftName(entry.name), permuted(entry.name) ? rowsToHuggingFace(tensor, decoder.config().head_width) : tensor});
  }
  TRY(model::saveState(folder + kWeights, state));
  const LoraOptions& lora = *decoder.options().lora;
  json::Object json{{"peft_type", "LORA"},
                    {"task_type", "CAUSAL_LM"},
                    {"r", lora.rank},
                    {"lora_alpha", lora.alpha},
                    {"lora_dropout", lora.dropout},
                    {"bias", "none"},
                    {"target_modules", json::Array(modulesOf(lora.targets))}};
  if (lora.rank_stabilised) json["use_rslora"] = true;
  if (lora.dora) json["use_dora"] = true;
  if (!lora.layers.empty()) json["layers_to_transform"] = json::Array(lora.layers);
  if (!lora.alphas.empty()) json["alpha_pattern"] = alphaPattern(lora);
  if (!lora.saved.empty()) json["modules_to_save"] = json::Array(modulesOf(lora.saved));
  if (!base.empty()) json["base_model_name_or_path"] = jsonText(base);
  const std::string text = base::prettyJson(std::move(json));
  return files::write(folder + kConfig, text);
}

}  // namespace expc::llama
