#include "runtime/worker/llama/adapter_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cassert>
#include <set>
#include <utility>

#include "runtime/plan/json.h"
#include "runtime/worker/io/durable_file.h"
#include "runtime/worker/llama/names.h"
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

/// What of adapter_config.json does not fit.
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
  if (json.getBoolean("use_rslora").value_or(false)) wrong.push_back("use_rslora is set: another scale");
  if (json.getBoolean("use_dora").value_or(false)) wrong.push_back("use_dora is set: another kind of adapter");
  if (const auto type = json.getString("peft_type"); type && *type != "LORA")
    wrong.push_back(fmt::format("peft_type is {}, expected LORA", type->take_front(32).str()));
  if (const auto* targets = json.getArray("target_modules")) {
    std::set<std::string> theirs;
    for (const auto& target : *targets)
      if (const auto name = target.getAsString()) theirs.insert(name->str());
    const std::set<std::string> own = targetModules(decoder);
    if (theirs != own)
      wrong.push_back(fmt::format("target_modules are {}, expected {}", fmt::join(theirs, ", "), fmt::join(own, ", ")));
  }
  return wrong;
}

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
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text) return llvm::createStringError(path + ": " + text.getError().message());
  auto json = plan::parseJson((*text)->getBuffer());
  if (!json) return llvm::createStringError(path + ": " + llvm::toString(json.takeError()));
  const auto* object = json->getAsObject();
  if (object == nullptr) return llvm::createStringError(path + ": expected an object");
  const auto wrong = differences(*object, decoder);
  if (!wrong.empty()) return llvm::createStringError(fmt::format("{}: {}", path, fmt::join(wrong, "; ")));

  auto file = io::SafeTensors::open(folder + kWeights);
  if (!file) return file.takeError();
  // Into tensors of their own first: rows may have to change places.
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters())
    state.push_back({peftName(entry.name), at::empty_like(entry.tensor, at::TensorOptions().device(at::kCPU))});
  if (auto error = model::loadState(*file, state)) return error;
  at::NoGradGuard no_grad;
  for (size_t i = 0; i < state.size(); ++i) {
    const model::NamedTensor entry = decoder.adapters()[i];
    const bool moves = permuted(entry.name);
    at::Tensor(entry.tensor)
        .copy_(moves ? rowsFromHuggingFace(state[i].tensor, decoder.config().head_width) : state[i].tensor);
  }
  return llvm::Error::success();
}

llvm::Error saveAdapter(const std::string& folder, const Decoder& decoder, const std::string& base) {
  assert(decoder.options().lora && "a decoder with adapters");
  if (const auto error = llvm::sys::fs::create_directories(folder))
    return llvm::createStringError(folder + ": " + error.message());
  std::vector<model::NamedTensor> state;
  for (const model::NamedTensor& entry : decoder.adapters()) {
    const at::Tensor tensor = entry.tensor.detach();
    state.push_back(
        {peftName(entry.name), permuted(entry.name) ? rowsToHuggingFace(tensor, decoder.config().head_width) : tensor});
  }
  auto digest = model::saveState(folder + kWeights, state);
  if (!digest) return digest.takeError();
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
  if (!base.empty()) json["base_model_name_or_path"] = plan::jsonText(base);
  const std::string text = plan::prettyJson(std::move(json));
  return io::writeDurably(folder + kConfig, {llvm::arrayRefFromStringRef(text)});
}

}  // namespace expc::llama
