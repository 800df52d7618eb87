// Reads and writes safetensors. The reader is strict, as the format's own is: ranges must cover the data exactly once,
// so that nothing can hide between tensors and no two tensors share bytes. The writer makes files that PyTorch's tools
// accept.

#include "runtime/data/model/safetensors.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/BLAKE3.h>
#include <llvm/Support/Endian.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <tuple>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"

namespace expc::safetensors {
namespace {

constexpr uint64_t kPrefix = 8;                   // bytes of the header's length
constexpr uint64_t kLargestHeader = 100'000'000;  // the limit of the format's own reader
constexpr size_t kMostDimensions = 64;

struct TypeName {
  const char* name;
  int64_t bytes;
};
/// The name and size of each DType, in the order of the enumeration.
constexpr std::array<TypeName, 9> kTypes = {
    {{"BOOL", 1}, {"U8", 1}, {"I8", 1}, {"I32", 4}, {"I64", 8}, {"F16", 2}, {"BF16", 2}, {"F32", 4}, {"F64", 8}}};

/// A whole number of the header that is not negative.
std::optional<uint64_t> wholeNumber(const json::Value& value) {
  const auto number = value.getAsInteger();
  if (!number || *number < 0) return std::nullopt;
  return uint64_t(*number);
}

/// Reads one entry of the header and checks it against the `available` bytes behind the header. Returns the fault, or
/// nothing.
std::optional<std::string> readEntry(const json::Value& value, ArrayRef<uint8_t> available, TensorInfo& info) {
  const auto* object = value.getAsObject();
  if (!object) return "expected an object";
  const auto dtype = object->getString("dtype");
  if (!dtype) return "no dtype";
  const int type = base::findNamed(kTypes, *dtype);
  if (type < 0) return fmt::format("dtype {} is not supported", dtype->take_front(32));
  info.dtype = static_cast<DType>(type);

  const auto* shape = object->getArray("shape");
  if (!shape) return "no shape";
  if (shape->size() > kMostDimensions)
    return fmt::format("{} dimensions, expected at most {}", shape->size(), kMostDimensions);
  uint64_t bytes = uint64_t(kTypes[type].bytes);
  for (const auto& dimension : *shape) {
    const auto size = wholeNumber(dimension);
    if (!size) return "a dimension that is not a whole number";
    // A product that overflowed could make a huge shape look as if it fitted its range.
    if (*size > 0 && bytes > uint64_t(std::numeric_limits<int64_t>::max()) / *size)
      return "a shape too large to address";
    bytes *= *size;
    info.shape.push_back(int64_t(*size));
  }

  const auto* offsets = object->getArray("data_offsets");
  if (!offsets || offsets->size() != 2) return "expected two data_offsets";
  const auto begin = wholeNumber((*offsets)[0]), end = wholeNumber((*offsets)[1]);
  if (!begin || !end || *begin > *end || *end > available.size())
    return fmt::format("data_offsets outside of the {} bytes of data", available.size());
  if (*end - *begin != bytes)
    return fmt::format("{} bytes of data, expected {} for its shape and type", *end - *begin, bytes);
  info.bytes = available.slice(*begin, bytes);
  return std::nullopt;
}

}  // namespace

int64_t elementBytes(DType type) { return kTypes[size_t(type)].bytes; }
const char* dtypeName(DType type) { return kTypes[size_t(type)].name; }

int64_t TensorInfo::elements() const { return std::ssize(bytes) / elementBytes(dtype); }

Expected<File> File::open(const std::string& path) {
  auto buffer = TRY(files::map(path));
  return parse(std::move(buffer), path);
}

void File::letGo(ArrayRef<uint8_t> bytes) const {
  // Small files are read into the heap instead of mapped. Dropping heap pages would zero them, since no file stands
  // behind.
  if (buffer_->getBufferKind() != llvm::MemoryBuffer::MemoryBuffer_MMap) return;
  const auto* begin = reinterpret_cast<const uint8_t*>(buffer_->getBufferStart());
  const auto* end = reinterpret_cast<const uint8_t*>(buffer_->getBufferEnd());
  if (bytes.begin() < begin || bytes.end() > end) return;
  // Only whole pages inside the range: the ones at its ends are shared with neighbouring tensors.
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = (reinterpret_cast<uintptr_t>(bytes.begin()) + page - 1) / page * page,
                  last = reinterpret_cast<uintptr_t>(bytes.end()) / page * page;
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}

Expected<File> File::parse(std::unique_ptr<llvm::MemoryBuffer> buffer, const std::string& name) {
  const StringRef all = buffer->getBuffer();
  // A pointer to Git LFS or a compressed file is a common slip; its error says what the file is.
  const auto unless = [&, form = files::formOf(all)](const std::string& what) {
    return form.empty() ? failure("{}: {}", name, what) : failure("{}: not safetensors but {}", name, form);
  };
  if (all.size() < kPrefix) return failure("{}: {} bytes, expected a safetensors file (at least 8)", name, all.size());
  const uint64_t length = llvm::support::endian::read64le(all.data());
  if (length > kLargestHeader || length > all.size() - kPrefix)
    return unless(fmt::format(
        "it announces a header of {} bytes, but {} are there and {} allowed: truncated, or not a safetensors file",
        length, all.size() - kPrefix, kLargestHeader));
  const StringRef header = all.substr(kPrefix, length);
  auto json = parseJson(header);
  if (!json) return unless("header is not JSON: " + toString(json.takeError()));
  const auto* object = json->getAsObject();
  if (!object) return failure("{}: header is not a JSON object", name);

  File file;
  file.path_ = name;
  const StringRef data = all.substr(kPrefix + length);
  const ArrayRef<uint8_t> available(reinterpret_cast<const uint8_t*>(data.data()), data.size());
  // The header's metadata is free text and no tensor.
  for (const auto& [key, value] : *object) {
    if (key == "__metadata__") continue;
    TensorInfo info;
    info.name = key.str();
    if (auto wrong = readEntry(value, available, info)) return failure("{}: tensor {}: {}", name, info.name, *wrong);
    file.tensors_.push_back(std::move(info));
  }
  // Sorted by place. Empty tensors come first where offsets are equal, so that ranges follow each other whatever the
  // order of the header.
  std::ranges::sort(file.tensors_, [](const TensorInfo& a, const TensorInfo& b) {
    return std::tuple(a.bytes.data(), a.bytes.size(), StringRef(a.name)) <
           std::tuple(b.bytes.data(), b.bytes.size(), StringRef(b.name));
  });
  // Each tensor must begin where the one before it ends, and the last must end the file.
  const uint8_t* expected = available.data();
  for (const TensorInfo& info : file.tensors_) {
    if (info.bytes.data() != expected)
      return failure("{}: tensor {}: its data {} the tensor before it", name, info.name,
                     info.bytes.data() < expected ? "overlaps" : "leaves a gap after");
    expected += info.bytes.size();
  }
  if (expected != available.end())
    return failure("{}: {} bytes after the last tensor", name, available.end() - expected);
  for (size_t i = 0; i < file.tensors_.size(); ++i) file.index_[file.tensors_[i].name] = i;
  file.buffer_ = std::move(buffer);
  return file;
}

std::string File::digest() const { return digestOf({llvm::arrayRefFromStringRef(buffer_->getBuffer())}); }

const TensorInfo* File::find(StringRef name) const {
  const size_t* found = entryOf(index_, name);
  return found ? &tensors_[*found] : nullptr;
}

Expected<std::string> writeSafeTensors(const std::string& path, const std::vector<TensorInfo>& tensors) {
  json::Object header;
  // transformers refuses files that do not name the framework.
  header["__metadata__"] = json::Object{{"format", "pt"}};
  int64_t offset = 0;
  for (const TensorInfo& info : tensors) {
    const auto size = std::ssize(info.bytes);
    const bool fresh =
        header
            .try_emplace(json::ObjectKey(info.name), json::Object{{"dtype", dtypeName(info.dtype)},
                                                                  {"shape", json::Array(info.shape)},
                                                                  {"data_offsets", json::Array{offset, offset + size}}})
            .second;
    if (!fresh) return failure("{}: two tensors of the name {}", path, info.name);
    offset += size;
  }
  std::string text;
  llvm::raw_string_ostream(text) << json::Value(std::move(header));
  text.append((8 - text.size() % 8) % 8, ' ');  // the data begins at a multiple of 8
  uint8_t prefix[kPrefix];
  llvm::support::endian::write64le(prefix, text.size());
  // The digest is computed from the same parts that are written, without reading the file again.
  std::vector<ArrayRef<uint8_t>> parts = {prefix, llvm::arrayRefFromStringRef(text)};
  for (const TensorInfo& info : tensors) parts.push_back(info.bytes);
  TRY(files::writeStream(path, [&](llvm::raw_ostream& out) {
    for (const auto& part : parts) out << llvm::toStringRef(part);
  }));
  return digestOf(parts);
}

std::string digestOf(const std::vector<ArrayRef<uint8_t>>& parts) {
  llvm::BLAKE3 hasher;
  for (const auto& part : parts) hasher.update(part);
  return llvm::toHex(hasher.final<32>(), /*LowerCase=*/true);
}

}  // namespace expc::safetensors
