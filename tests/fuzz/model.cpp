#include "tests/fuzz/model.h"

#include <ATen/ATen.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/MemoryBuffer.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <ios>

#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/data/model/safetensors.h"
#include "runtime/worker/llama/adapter_file.h"
#include "runtime/worker/llama/folder.h"
#include "runtime/worker/llama/random_weights.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {
namespace {

constexpr uint64_t kMostData = 1 << 16;

void said(Error error) {
  const std::string message = toString(std::move(error));
  hold(!message.empty(), "an error says something");
  hold(message.size() < 8192, "an error is short");
}

/// A file with that header and as much data as the header's tensors ask for, within limits.
std::string withHeader(StringRef header) {
  uint64_t data = 0;
  if (auto json = base::parseJson(header)) {
    if (const auto* object = json->getAsObject())
      for (const auto& [name, value] : *object) {
        const auto* tensor = value.getAsObject();
        const auto* range = tensor != nullptr ? tensor->getArray("data_offsets") : nullptr;
        if (range != nullptr && range->size() == 2)
          data = std::max(data, uint64_t(std::max<int64_t>(0, (*range)[1].getAsInteger().value_or(0))));
      }
  } else {
    consumeError(json.takeError());
  }
  std::string file(8, '\0');
  for (size_t i = 0; i < 8; ++i) file[i] = char(header.size() >> (8 * i) & 0xff);
  return file + header.str() + std::string(std::min(data, kMostData), '\1');
}

void asFile(const std::string& bytes) {
  auto file = safetensors::File::parse(llvm::MemoryBuffer::getMemBufferCopy(bytes), "fuzz");
  if (!file) return said(file.takeError());
  for (const safetensors::TensorInfo& tensor : file->tensors()) {
    hold(tensor.bytes.begin() >= file->tensors().front().bytes.begin(), "tensors are in order");
    hold(int64_t(tensor.bytes.size()) == tensor.elements() * safetensors::elementBytes(tensor.dtype),
         "a tensor is as long as its shape says");
    hold(tensor.bytes.size() <= bytes.size(), "a tensor lies in the file");
    if (!tensor.bytes.empty()) hold(tensor.bytes.front() + tensor.bytes.back() >= 0, "its bytes can be read");
    hold(file->find(tensor.name) == &tensor, "names lead to tensors");
  }
}

void put(const std::string& path, StringRef text) {
  std::ofstream out(path, std::ios::binary);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

/// Where folders are written, in memory; the process's own, gone when it ends.
class Place {
 public:
  Place() : path_(fmt::format("{}/expc-fuzz-{}", llvm::sys::fs::exists("/dev/shm") ? "/dev/shm" : "/tmp", ::getpid())) {
    hold(!llvm::sys::fs::create_directories(path_), "a folder can be made");
  }
  ~Place() { llvm::sys::fs::remove_directories(path_); }
  const std::string& path() const { return path_; }
  std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void asFolder(const Place& place, ArrayRef<StringRef> parts) {
  put(place / "config.json", parts[0]);
  put(place / "model.safetensors", withHeader(parts[1]));
  if (parts.size() > 2)
    put(place / "model.safetensors.index.json", parts[2]);
  else
    llvm::sys::fs::remove(place / "model.safetensors.index.json");
  auto folder = llama::Folder::open(place.path());
  if (!folder) return said(folder.takeError());
  for (const llama::TensorSpec& spec : llama::weightSpecs(folder->config()))
    hold(folder->read(spec).sizes() == at::IntArrayRef(spec.shape), "a folder that opens gives every weight");
}

llama::Decoder& decoder() {
  static llama::Decoder* const made = [] {
    llama::Config config;
    config.vocabulary = 8, config.width = 8, config.layers = 1, config.heads = 2, config.kv_heads = 1;
    config.head_width = 4, config.mlp_width = 8, config.max_positions = 8;
    llama::DecoderOptions options;
    options.lora = llama::LoraOptions{2, 4, 0, *llama::targetRoles("qv")};
    return new llama::Decoder(config, options, 1, llama::randomWeights(1, at::kFloat));
  }();
  return *made;
}

void asAdapter(const Place& place, ArrayRef<StringRef> parts) {
  put(place / "adapter_config.json", parts[0]);
  put(place / "adapter_model.safetensors", withHeader(parts[1]));
  if (auto error = llama::loadAdapter(place.path(), decoder())) said(std::move(error));
}

}  // namespace

void readModel(const std::string& bytes) {
  static const Place place;
  asFile(bytes);
  asFile(withHeader(bytes));
  llvm::SmallVector<StringRef, 4> parts;
  StringRef(bytes).split(parts, "\n%%\n", /*MaxSplit=*/2);
  if (auto json = base::parseJson(parts[0])) {
    if (auto config = llama::configFromJson(*json); !config) said(config.takeError());
  } else {
    said(json.takeError());
  }
  if (parts.size() < 2) return;
  asFolder(place, parts);
  asAdapter(place, parts);
}

}  // namespace expc::fuzz
