#include "runtime/worker/model/state_file.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <set>

namespace expc::model {
namespace {

llvm::Error failure(const std::string& text) { return llvm::createStringError(llvm::inconvertibleErrorCode(), text); }

struct TypePair {
  io::DType file;
  at::ScalarType torch;
};
constexpr TypePair kTypes[] = {
    {io::DType::Bool, at::kBool},     {io::DType::U8, at::kByte},   {io::DType::I8, at::kChar},
    {io::DType::I32, at::kInt},       {io::DType::I64, at::kLong},  {io::DType::F16, at::kHalf},
    {io::DType::BF16, at::kBFloat16}, {io::DType::F32, at::kFloat}, {io::DType::F64, at::kDouble}};

at::Tensor copyOf(const io::TensorInfo& info) {
  at::ScalarType type = at::kFloat;
  for (const TypePair& pair : kTypes)
    if (pair.file == info.dtype) type = pair.torch;
  at::Tensor tensor = at::empty(info.shape, at::TensorOptions().dtype(type));
  // memcpy and not a view: the file's bytes need not be aligned.
  if (!info.bytes.empty()) std::memcpy(tensor.mutable_data_ptr(), info.bytes.data(), info.bytes.size());
  return tensor;
}

std::string shapeText(at::IntArrayRef shape) {
  return fmt::format("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

}  // namespace

llvm::Expected<at::Tensor> readTensor(const io::SafeTensors& file, const std::string& name) {
  const io::TensorInfo* info = file.find(name);
  if (info == nullptr) return failure(fmt::format("{}: no tensor {}", file.path(), name));
  return copyOf(*info);
}

llvm::Error loadState(const io::SafeTensors& file, const std::vector<NamedTensor>& state) {
  std::set<std::string> wanted;
  for (const NamedTensor& target : state) {
    wanted.insert(target.name);
    const io::TensorInfo* info = file.find(target.name);
    if (info == nullptr) return failure(fmt::format("{}: no tensor {}", file.path(), target.name));
    if (target.tensor.sizes() != at::IntArrayRef(info->shape))
      return failure(fmt::format("{}: tensor {} has shape {}, expected {}", file.path(), target.name,
                                 shapeText(info->shape), shapeText(target.tensor.sizes())));
  }
  for (const io::TensorInfo& info : file.tensors())
    if (wanted.count(info.name) == 0)
      return failure(fmt::format("{}: tensor {} is not part of the model", file.path(), info.name));
  at::NoGradGuard no_grad;
  for (const NamedTensor& target : state) target.tensor.copy_(copyOf(*file.find(target.name)));
  return llvm::Error::success();
}

llvm::Error saveState(const std::string& path, const std::vector<NamedTensor>& state) {
  std::vector<at::Tensor> kept;  // holds the copies until they are written
  std::vector<io::TensorInfo> infos;
  for (const NamedTensor& source : state) {
    at::Tensor tensor = source.tensor.detach().to(at::kCPU).contiguous();
    io::TensorInfo info;
    info.name = source.name;
    bool known = false;
    for (const TypePair& pair : kTypes) {
      if (pair.torch != tensor.scalar_type()) continue;
      info.dtype = pair.file;
      known = true;
    }
    if (!known) return failure(fmt::format("{}: tensor {} has a type that the format lacks", path, source.name));
    info.shape.assign(tensor.sizes().begin(), tensor.sizes().end());
    info.bytes = llvm::ArrayRef<uint8_t>(static_cast<const uint8_t*>(tensor.const_data_ptr()), tensor.nbytes());
    infos.push_back(std::move(info));
    kept.push_back(std::move(tensor));
  }
  return io::writeSafeTensors(path, infos);
}

}  // namespace expc::model
