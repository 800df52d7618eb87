// Reads and writes model folders. A folder comes from outside: file names in an index may not leave it, pickles are
// never loaded (they can run code), and all tensors are checked before the first is read. Rows of q and k are
// permuted while they are copied, so a weight is never in memory twice.

#include "runtime/worker/llama/folder.h"

#include <ATen/ops/empty.h>
#include <fmt/ranges.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <iterator>
#include <set>
#include <system_error>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/data/model/llama.h"
#include "runtime/worker/model/state_file.h"

namespace expc::llama {
namespace {

/// A module's or a tensor's name in both conventions: outside of layers, and behind "layers.N.".
struct Pair {
  llvm::StringLiteral torchtune, hugging_face;
};
constexpr Pair kWhole[] = {
    {"tok_embeddings", "model.embed_tokens"}, {"norm.scale", "model.norm.weight"}, {"output", "lm_head"}};
constexpr Pair kInLayer[] = {{"attn.q_proj", "self_attn.q_proj"},
                             {"attn.k_proj", "self_attn.k_proj"},
                             {"attn.v_proj", "self_attn.v_proj"},
                             {"attn.output_proj", "self_attn.o_proj"},
                             {"mlp.w1", "mlp.gate_proj"},
                             {"mlp.w2", "mlp.down_proj"},
                             {"mlp.w3", "mlp.up_proj"},
                             {"sa_norm.scale", "input_layernorm.weight"},
                             {"mlp_norm.scale", "post_attention_layernorm.weight"}};

/// `name` with `from` replaced by `to`, if it is `from` or continues behind it with a dot.
std::optional<std::string> replaced(StringRef name, StringRef from, StringRef to) {
  if (!name.consume_front(from)) return std::nullopt;
  if (!name.empty() && name.front() != '.') return std::nullopt;
  return (to + name).str();
}

constexpr char kOneFile[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";
// An index that names more files than this is taken for damaged.
constexpr size_t kMostFiles = 1000;

std::string joined(const std::string& folder, StringRef name) { return folder + "/" + name.str(); }

/// The files that an index names. Each must be a plain file name, so that nothing outside the folder is opened.
Expected<std::set<std::string>> filesOfIndex(const std::string& path) {
  auto json = TRY(readJsonFile(path));
  const auto* object = json.getAsObject();
  const auto* map = object ? object->getObject("weight_map") : nullptr;
  if (!map) return failure("{}: expected an object with a weight_map", path);
  std::set<std::string> files;
  for (const auto& [tensor, value] : *map) {
    const auto file = value.getAsString();
    if (!file || file->empty() || *file != llvm::sys::path::filename(*file) || !file->ends_with(".safetensors"))
      return failure("{}: {}: expected the name of a .safetensors file in the folder", path,
                     StringRef(tensor).take_front(100));
    files.insert(file->str());
    if (files.size() > kMostFiles) return failure("{}: more than {} files", path, kMostFiles);
  }
  if (files.empty()) return failure("{}: names no file", path);
  return files;
}

/// Whether a weight may have this type; quantised formats of other tools have no place here.
bool isReal(safetensors::DType type) {
  return type == safetensors::DType::F64 || type == safetensors::DType::F32 || type == safetensors::DType::F16 ||
         type == safetensors::DType::BF16;
}

/// A weight's name in a convention. Every spec has one in both.
std::string nameOf(const TensorSpec& spec, Naming naming) {
  return naming == Naming::Torchtune ? spec.name : huggingFaceName(spec.name).value();
}

/// Whether an entry holds no weight: older versions of transformers stored the rotation's frequencies.
bool isIgnored(StringRef name) { return name.ends_with("rotary_emb.inv_freq"); }

/// Whether the folder has weights in torch's pickle format. Only asked to explain why no weights were found.
bool hasPickles(const std::string& folder) {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const StringRef ending = llvm::sys::path::extension(it->path());
    if (ending == ".bin" || ending == ".pt" || ending == ".pth") return true;
  }
  return false;
}

/// The row in Hugging Face's order that holds torchtune's `row`. A head's even elements are Hugging Face's first
/// half, its odd ones the second.
int64_t rowInHuggingFace(int64_t row, int64_t head_width) {
  const int64_t head = row / head_width, place = row % head_width;
  return head * head_width + place % 2 * (head_width / 2) + place / 2;
}

}  // namespace

std::optional<std::string> huggingFaceName(StringRef torchtune) {
  for (const Pair& pair : kWhole)
    if (auto result = replaced(torchtune, pair.torchtune, pair.hugging_face)) return result;
  if (!torchtune.consume_front("layers.")) return std::nullopt;
  const auto [number, rest] = torchtune.split('.');
  if (number.empty() || !llvm::all_of(number, llvm::isDigit)) return std::nullopt;
  for (const Pair& pair : kInLayer)
    if (auto result = replaced(rest, pair.torchtune, pair.hugging_face))
      return ("model.layers." + number + "." + *result).str();
  return std::nullopt;
}

// Views of a head as [2, half] (Hugging Face: first and second elements of all pairs) and [half, 2] (torchtune:
// pairs); swapping the two dimensions converts one into the other.
at::Tensor rowsFromHuggingFace(const at::Tensor& rows, int64_t head_width) {
  assert(rows.size(0) % head_width == 0 && "whole heads");
  return rows.reshape({rows.size(0) / head_width, 2, head_width / 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

at::Tensor rowsToHuggingFace(const at::Tensor& rows, int64_t head_width) {
  assert(rows.size(0) % head_width == 0 && "whole heads");
  return rows.reshape({rows.size(0) / head_width, head_width / 2, 2, -1}).transpose(1, 2).reshape(rows.sizes());
}

Expected<Folder> Folder::open(const std::string& path) {
  if (!llvm::sys::fs::is_directory(path))
    return failure("{}: not a folder; expected one with config.json and safetensors", path);
  Folder folder;
  if (!llvm::sys::fs::exists(joined(path, "config.json")))
    return failure("{}: it has no config.json; expected a model's folder as Hugging Face has them", path);
  folder.config_ = TRY(readConfig(path));
  TRY(folder.openFiles(path));
  TRY(folder.check(path));
  return folder;
}

Error Folder::openFiles(const std::string& path) {
  // An index wins over a single file.
  std::set<std::string> names = {kOneFile};
  if (llvm::sys::fs::exists(joined(path, kIndex))) {
    names = TRY(filesOfIndex(joined(path, kIndex)));
  } else if (!llvm::sys::fs::exists(joined(path, kOneFile))) {
    // Explain the most frequent reason for missing weights: a model saved in torch's old format.
    return failure("{}: neither {} nor {} is there{}", path, kOneFile, kIndex,
                   hasPickles(path)
                       ? ". Its .bin, .pt or .pth files are pickles, which could run any code and are never loaded: "
                         "write safetensors with transformers' save_pretrained, or download the model's safetensors"
                       : "; the weights of a model are expected in safetensors");
  }
  for (const std::string& name : names) {
    auto file = TRY(safetensors::File::open(joined(path, name)));
    files_.push_back(std::move(file));
  }
  // A tensor in two files would make its value depend on the order in which they are read.
  std::vector<std::string> twice;
  for (const safetensors::File& file : files_) {
    for (const safetensors::TensorInfo& info : file.tensors())
      if (!tensors_.try_emplace(info.name, &info).second) twice.push_back(info.name);
  }
  if (!twice.empty()) return failure("{}: in more than one file: {}", path, model::listed(twice));
  // Only torchtune's naming has this tensor; all other folders are read as Hugging Face's.
  if (tensors_.count("tok_embeddings.weight") != 0) naming_ = Naming::Torchtune;
  return Error::success();
}

const safetensors::TensorInfo* Folder::find(const TensorSpec& spec) const {
  return tensors_.lookup(nameOf(spec, naming_));
}

Error Folder::check(const std::string& path) const {
  // Collect all faults by kind before answering, so that a user can mend them at once.
  std::vector<std::string> missing, shapes, types, left_over;
  // Whatever is in the files beside the model's weights is a sign that config.json and weights do not belong
  // together.
  std::set<StringRef> known;
  for (const TensorSpec& spec : weightSpecs(config_)) {
    const safetensors::TensorInfo* info = find(spec);
    if (!info) {
      missing.push_back(nameOf(spec, naming_));
      continue;
    }
    known.insert(info->name);
    if (info->shape != spec.shape)
      shapes.push_back(
          fmt::format("{} [{}] for [{}]", info->name, fmt::join(info->shape, ", "), fmt::join(spec.shape, ", ")));
    else if (!isReal(info->dtype))
      types.push_back(fmt::format("{} {}", info->name, safetensors::dtypeName(info->dtype)));
  }
  for (const auto& entry : tensors_) {
    // A tied head may be stored all the same. It equals the embedding and is not read.
    const bool tied_head =
        config_.tied && entry.first() == (naming_ == Naming::Torchtune ? "output.weight" : "lm_head.weight");
    if (known.count(entry.second->name) == 0 && !isIgnored(entry.first()) && !tied_head)
      left_over.push_back(entry.second->name);
  }
  std::ranges::sort(left_over);
  const std::string wrong = model::faultsText({{"missing", missing},
                                               {"not part of the model", left_over},
                                               {"with another shape than in config.json", shapes},
                                               {"without floating-point numbers", types}});
  if (wrong.empty()) return Error::success();
  return failure("{}: the weights do not fit config.json; tensors {}", path, wrong);
}

// tensorOf() translates the type; the tensor that it makes has no elements.
at::ScalarType Folder::type(const TensorSpec& spec) const {
  return model::tensorOf({"", find(spec)->dtype, {0}, {}}).scalar_type();
}

at::Tensor Folder::read(const TensorSpec& spec) const { return read(spec, 0, spec.elements()).view(spec.shape); }

WeightSource Folder::weights() const {
  return [this](const TensorSpec& spec, int64_t first, int64_t count) { return read(spec, first, count); };
}

at::Tensor Folder::read(const TensorSpec& spec, int64_t first, int64_t count) const {
  const safetensors::TensorInfo* info = find(spec);
  assert(info && "open() has checked that every weight is there");
  at::Tensor result = at::empty({count}, at::TensorOptions().dtype(type(spec)));
  const auto size = int64_t(result.itemsize());
  auto* to = static_cast<uint8_t*>(result.mutable_data_ptr());
  const bool moved = naming_ == Naming::HuggingFace && rowsDiffer(spec.role);
  // Rows that move are copied one by one; otherwise the whole tensor counts as one row.
  const int64_t width = moved ? spec.elements() / spec.shape[0] : std::max<int64_t>(spec.elements(), 1);
  for (int64_t at = first; at < first + count;) {
    const int64_t row = at / width, within = at % width, here = std::min(width - within, first + count - at);
    const int64_t from = (moved ? rowInHuggingFace(row, config_.head_width) : row) * width + within;
    const auto bytes = info->bytes.slice(size_t(from * size), size_t(here * size));
    std::memcpy(to + (at - first) * size, bytes.data(), bytes.size());
    at += here;
  }
  // Give the mapping's pages back: otherwise loading a model would leave all of it in this process's resident
  // memory.
  for (const safetensors::File& file : files_) file.letGo(info->bytes);
  return result;
}

Error writeFolder(const std::string& path, const Config& config,
                  const std::function<at::Tensor(const TensorSpec&)>& weight, at::ScalarType dtype, Naming naming,
                  int64_t file_bytes) {
  TRY(model::makeFolder(path));
  const std::vector<TensorSpec> specs = weightSpecs(config);
  const auto element = int64_t(c10::elementSize(dtype));
  // Fill files with whole weights in order, up to `file_bytes` each.
  std::vector<std::vector<TensorSpec>> parts(1);
  int64_t total = 0, in_part = 0;
  for (const TensorSpec& spec : specs) {
    const int64_t bytes = spec.elements() * element;
    if (in_part > 0 && in_part + bytes > file_bytes) {
      parts.emplace_back();
      in_part = 0;
    }
    parts.back().push_back(spec);
    in_part += bytes;
    total += bytes;
  }
  json::Object map;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string file =
        parts.size() == 1 ? kOneFile : fmt::format("model-{:05}-of-{:05}.safetensors", i + 1, parts.size());
    std::vector<model::NamedTensor> state;
    for (const TensorSpec& spec : parts[i]) {
      at::Tensor tensor = weight(spec).detach().to(at::kCPU, dtype);
      assert(tensor.sizes() == at::IntArrayRef(spec.shape) && "the weight of its name");
      if (naming == Naming::HuggingFace && rowsDiffer(spec.role)) tensor = rowsToHuggingFace(tensor, config.head_width);
      state.push_back({nameOf(spec, naming), std::move(tensor)});
      map[state.back().name] = file;
    }
    TRY(model::saveState(joined(path, file), state));
  }
  // With several files there is an index, and Folder::open prefers it. One of an earlier model must not stay.
  if (parts.size() == 1) {
    if (const auto error = llvm::sys::fs::remove(joined(path, kIndex)))
      return files::systemError(joined(path, kIndex), error.value());
  } else {
    const std::string index = base::prettyJson(
        json::Object{{"metadata", json::Object{{"total_size", total}}}, {"weight_map", std::move(map)}});
    TRY(files::write(joined(path, kIndex), index));
  }
  const std::string text = base::prettyJson(configToJson(config, c10::getDtypeNames(dtype).first));
  return files::write(joined(path, "config.json"), text);
}

}  // namespace expc::llama
