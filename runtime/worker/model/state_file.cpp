#include "runtime/worker/model/state_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/ranges.h>
#include <llvm/Support/FileSystem.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <set>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"

namespace expc::model {
namespace {

/// torch's type for each safetensors::DType, in the order of the enumeration.
constexpr at::ScalarType kTypes[] = {at::kBool, at::kByte,     at::kChar,  at::kInt,   at::kLong,
                                     at::kHalf, at::kBFloat16, at::kFloat, at::kDouble};

at::ScalarType torchType(safetensors::DType type) { return kTypes[size_t(type)]; }

std::string shapeText(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  constexpr size_t kMost = 6;
  const auto shown = ptrdiff_t(std::min(names.size(), kMost));
  std::string text = fmt::format("{}", fmt::join(names.begin(), names.begin() + shown, ", "));
  if (names.size() > kMost) text += fmt::format(" and {} more", names.size() - kMost);
  return text;
}

std::string faultsText(const std::vector<std::pair<const char*, std::vector<std::string>>>& faults) {
  std::vector<std::string> texts;
  for (const auto& [what, names] : faults)
    if (!names.empty()) texts.push_back(fmt::format("{} {}: {}", names.size(), what, listed(names)));
  return fmt::format("{}", fmt::join(texts, "; "));
}

at::Tensor tensorOf(const safetensors::TensorInfo& info) {
  at::Tensor tensor = at::empty(info.shape, at::TensorOptions().dtype(torchType(info.dtype)));
  // memcpy and not a view: the file's bytes need not be aligned.
  if (!info.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), info.bytes.data(), info.bytes.size());
  return tensor;
}

namespace {

/// `taken` says what of a tensor of the file is meant.
template <typename Taken>
Error load(const safetensors::File& file, const std::vector<NamedTensor>& state, Taken taken) {
  std::set<std::string> wanted;
  std::vector<std::string> missing, shapes, types, left_over;
  for (const NamedTensor& target : state) {
    wanted.insert(target.name);
    const safetensors::TensorInfo* whole = file.find(target.name);
    if (whole == nullptr) {
      missing.push_back(target.name);
      continue;
    }
    const safetensors::TensorInfo info = taken(*whole);
    if (target.tensor.sizes() != at::IntArrayRef(info.shape)) {
      shapes.push_back(
          fmt::format("{} {} for {}", target.name, shapeText(info.shape), shapeText(target.tensor.sizes())));
    } else if (at::isFloatingType(torchType(info.dtype)) != at::isFloatingType(target.tensor.scalar_type())) {
      types.push_back(fmt::format("{} {}", target.name, safetensors::dtypeName(info.dtype)));
    }
  }
  for (const safetensors::TensorInfo& info : file.tensors())
    if (wanted.count(info.name) == 0) left_over.push_back(info.name);
  const std::string wrong = faultsText({{"missing", missing},
                                        {"not part of the model", left_over},
                                        {"with another shape", shapes},
                                        {"of a type that is not cast", types}});
  if (!wrong.empty()) return failure("{} does not fit the model; tensors {}", file.path(), wrong);
  at::NoGradGuard no_grad;
  for (const NamedTensor& target : state) target.tensor.copy_(tensorOf(taken(*file.find(target.name))));
  return Error::success();
}

}  // namespace

Error loadState(const safetensors::File& file, const std::vector<NamedTensor>& state) {
  return load(file, state, [](const safetensors::TensorInfo& info) { return info; });
}

safetensors::TensorInfo entryOf(const safetensors::TensorInfo& info, int64_t index, int64_t count) {
  if (info.shape.empty() || info.shape[0] != count) return info;
  const size_t bytes = info.bytes.size() / size_t(count);
  const ArrayRef<uint8_t> own = info.bytes.slice(size_t(index) * bytes, bytes);
  safetensors::TensorInfo entry{info.name, info.dtype, {info.shape.begin() + 1, info.shape.end()}, own};
  return entry;
}

Error loadEntries(const safetensors::File& file, int64_t index, int64_t count, const std::vector<NamedTensor>& state) {
  return load(file, state, [&](const safetensors::TensorInfo& info) { return entryOf(info, index, count); });
}

Error makeFolder(const std::string& path) {
  const auto failed = llvm::sys::fs::create_directories(path, true, llvm::sys::fs::all_all);
  return failed ? files::systemError(path, failed.value()) : Error::success();
}

Expected<std::string> saveState(const std::string& path, const std::vector<NamedTensor>& state) {
  std::vector<at::Tensor> kept;  // holds the copies until they are written
  std::vector<safetensors::TensorInfo> infos;
  for (const NamedTensor& source : state) {
    at::Tensor tensor = source.tensor.detach().to(at::kCPU).contiguous();
    safetensors::TensorInfo info;
    info.name = source.name;
    const auto* type = std::ranges::find(kTypes, tensor.scalar_type());
    if (type == std::end(kTypes)) return failure("{}: tensor {} has a type that the format lacks", path, source.name);
    info.dtype = static_cast<safetensors::DType>(type - std::begin(kTypes));
    info.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    info.bytes = ArrayRef<uint8_t>(static_cast<const uint8_t*>(tensor.const_data_ptr()), tensor.nbytes());
    infos.push_back(std::move(info));
    kept.push_back(std::move(tensor));
  }
  return safetensors::writeSafeTensors(path, infos);
}

}  // namespace expc::model
