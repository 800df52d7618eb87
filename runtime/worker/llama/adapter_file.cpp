// Reads and writes PEFT adapters. PEFT's configuration has many fields that change what an adapter computes, and new
// versions add more. So a field that this file does not know must be unset: to compute something else in silence
// would be worse than to refuse.

#include "runtime/worker/llama/adapter_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cassert>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/json.h"
#include "runtime/data/llama/config.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/model/state_file.h"

namespace expc::llama {
namespace {

constexpr char kConfig[] = "/adapter_config.json";
constexpr char kWeights[] = "/adapter_model.safetensors";
constexpr llvm::StringLiteral kPrefix = "base_model.model.";

/// Hugging Face's names of the modules that have adapters: q_proj, gate_proj, …
std::set<std::string> targetModules(const Decoder& decoder) {
  std::set<std::string> names;
  for (const model::NamedTensor& entry : decoder.adapters()) {
    const std::string name = peftName(entry.name);
    const llvm::StringRef module = llvm::StringRef(name).rsplit(".lora_").first;
    names.insert(module.substr(module.rfind('.') + 1).str());
  }
  return names;
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
bool leavesTheBase(const llvm::json::Value& init) {
  const auto name = init.getAsString();
  return init.getAsNull() || init.getAsBoolean() ||
         (name && (*name == "gaussian" || *name == "eva" || *name == "orthogonal"));
}

/// Whether a value means the same as a missing field: null, false, an empty value, or bias = "none".
bool isUnset(const llvm::json::Value& value) {
  const auto* list = value.getAsArray();
  const auto* object = value.getAsObject();
  const auto text = value.getAsString();
  return value.getAsNull() || value.getAsBoolean() == false || (list && list->empty()) || (object && object->empty()) ||
         (text && (text->empty() || *text == "none"));
}

/// Whether a list of excluded modules names none of `own`, the modules that have adapters. A text would be a pattern,
/// which is not supported.
bool excludesNone(const llvm::json::Value& value, const std::set<std::string>& own) {
  const auto* list = value.getAsArray();
  return list && llvm::none_of(*list, [&](const llvm::json::Value& one) {
           const auto name = one.getAsString();
           return !name || own.count(name->rsplit('.').second.empty() ? name->str() : name->rsplit('.').second.str());
         });
}

/// Whether a list names every layer.
bool isEveryLayer(const llvm::json::Value& value, int64_t layers) {
  const auto* list = value.getAsArray();
  std::set<int64_t> named;
  for (const llvm::json::Value& one : list ? *list : llvm::json::Array()) named.insert(one.getAsInteger().value_or(-1));
  return list && static_cast<int64_t>(named.size()) == layers && *named.begin() == 0 && *named.rbegin() == layers - 1;
}

/// All that makes adapter_config.json unfit for the decoder's adapters; empty if it fits.
std::vector<std::string> differences(const llvm::json::Object& json, const Decoder& decoder) {
  const LoraOptions& lora = *decoder.options().lora;
  std::vector<std::string> wrong;
  const auto number = [&](const char* key, double own) {
    const auto value = json.getNumber(key);
    if (!value)
      wrong.push_back(fmt::format("no {}", key));
    else if (*value != own)
      wrong.push_back(fmt::format("{} is {}, expected {}", key, *value, own));
  };
  number("r", static_cast<double>(lora.rank));
  number("lora_alpha", lora.alpha);
  if (const auto type = json.getString("peft_type"); type && *type != "LORA")
    wrong.push_back(fmt::format("peft_type is {}, expected LORA", type->take_front(32).str()));
  const std::set<std::string> own = targetModules(decoder);
  if (const auto* targets = json.getArray("target_modules")) {
    std::set<std::string> theirs;
    for (const auto& target : *targets)
      if (const auto name = target.getAsString()) theirs.insert(name->str());
    if (theirs != own)
      wrong.push_back(fmt::format("target_modules are {}, expected {}", fmt::join(theirs, ", "), fmt::join(own, ", ")));
  }
  constexpr size_t kLinear = 7;  // modules of a layer that "all-linear" means
  const auto fitsModel = [&](llvm::StringRef key, const llvm::json::Value& value) {
    if (key == "init_lora_weights") return leavesTheBase(value);
    if (isUnset(value)) return true;
    if (key == "exclude_modules") return excludesNone(value, own);
    if (key == "layers_to_transform") return isEveryLayer(value, decoder.config().layers);
    if (key != "target_modules") return false;
    return value.getAsArray() || (value.getAsString() == llvm::StringRef("all-linear") && own.size() == kLinear);
  };
  constexpr llvm::StringLiteral kCompared[] = {"r", "lora_alpha", "peft_type"};
  // Sorted by name, so that the message does not depend on the file's order.
  std::map<std::string, std::string> unknown;
  for (const auto& [key, value] : json) {
    if (fitsModel(key, value) || llvm::is_contained(kHarmless, llvm::StringRef(key)) ||
        llvm::is_contained(kCompared, llvm::StringRef(key)))
      continue;
    unknown[key.str()] = base::canonicalJson(value);
  }
  constexpr size_t kShown = 48;  // characters of a value
  for (const auto& [key, value] : unknown)
    wrong.push_back(fmt::format("{} is {}, which changes what an adapter does and is not supported", key,
                                value.size() > kShown ? llvm::json::fixUTF8(value.substr(0, kShown)) + "…" : value));
  return wrong;
}

/// Whether the matrix has rows in the order of q or k: the second matrix B. The first one's rows are the rank's.
bool permuted(llvm::StringRef name) {
  return name.ends_with("attn.q_proj.lora_b.weight") || name.ends_with("attn.k_proj.lora_b.weight");
}

}  // namespace

std::string peftName(const std::string& torchtune) {
  std::string name = huggingFaceName(torchtune).value();
  const size_t at = name.rfind(".lora_");
  assert(at != std::string::npos && "the name of an adapter's matrix");
  const size_t letter = at + llvm::StringRef(".lora_").size();
  name[letter] = llvm::toUpper(name[letter]);
  return kPrefix.str() + name;
}

llvm::Error loadAdapter(const std::string& folder, Decoder& decoder) {
  assert(decoder.options().lora && "a decoder with adapters");
  const std::string path = folder + kConfig;
  auto json = readJsonFile(path);
  if (!json) return json.takeError();
  const auto* object = json->getAsObject();
  if (object == nullptr) return llvm::createStringError(path + ": expected an object");
  const auto wrong = differences(*object, decoder);
  if (!wrong.empty()) return base::failure("{}: {}", path, fmt::join(wrong, "; "));

  auto file = io::SafeTensors::open(folder + kWeights);
  if (!file) return file.takeError();
  // Load into tensors of their own first: an error must change nothing, and rows may have to be permuted.
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters())
    state.push_back({peftName(entry.name), at::empty_like(entry.tensor, at::TensorOptions().device(at::kCPU))});
  if (auto error = model::loadState(*file, state)) return error;
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) {
    const model::NamedTensor entry = decoder.adapters()[i];
    // Rows of q and k change their order as they are copied.
    const bool moves = permuted(entry.name);
    at::Tensor(entry.tensor)
        .copy_(moves ? rowsFromHuggingFace(state[i].tensor, decoder.config().head_width) : state[i].tensor);
  }
  return llvm::Error::success();
}

llvm::Error saveAdapter(const std::string& folder, const Decoder& decoder, const std::string& base) {
  assert(decoder.options().lora && "a decoder with adapters");
  // The folder may be there already, as the one of an earlier epoch.
  if (const auto error = llvm::sys::fs::create_directories(folder, true, llvm::sys::fs::all_all))
    return llvm::createStringError(folder + ": " + error.message());
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters()) {
    const at::Tensor tensor = entry.tensor.detach();
    state.push_back(
        {peftName(entry.name), permuted(entry.name) ? rowsToHuggingFace(tensor, decoder.config().head_width) : tensor});
  }
  if (auto error = model::saveState(folder + kWeights, state).takeError()) return error;
  llvm::json::Array modules;
  for (const std::string& name : targetModules(decoder)) modules.push_back(name);
  const LoraOptions& lora = *decoder.options().lora;
  llvm::json::Object json{{"peft_type", "LORA"},
                          {"task_type", "CAUSAL_LM"},
                          {"r", lora.rank},
                          {"lora_alpha", lora.alpha},
                          {"lora_dropout", lora.dropout},
                          {"bias", "none"},
                          {"target_modules", std::move(modules)}};
  if (!base.empty()) json["base_model_name_or_path"] = base::jsonText(base);
  const std::string text = base::prettyJson(std::move(json));
  return files::write(folder + kConfig, text);
}

}  // namespace expc::llama
