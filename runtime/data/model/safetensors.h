#pragma once

// The safetensors format of Hugging Face: 8 bytes with the length of a header (little-endian), the header in JSON, then
// the tensors' bytes. Files may come from anywhere, so every number in one is checked before it is used. No torch here;
// the caller wraps the bytes.

#include <llvm/ADT/StringMap.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::safetensors {

/// The types of elements that are read, a subset of the format's.
enum class DType { Bool, U8, I8, I32, I64, F16, BF16, F32, F64 };

/// Bytes of one element.
int64_t elementBytes(DType type);
/// The format's name of a type, such as "F32".
const char* dtypeName(DType type);

/// A tensor of a file, or one to be written. The bytes belong to the file or to the caller.
struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;  // row-major; empty for a scalar
  ArrayRef<uint8_t> bytes;     // little-endian, not necessarily aligned

  /// The number of elements; 1 for a scalar.
  int64_t elements() const;
};

/// An opened file. Its tensors' bytes point into the mapping and live as long as this object.
class File {
 public:
  /// Maps a file and reads its header. Errors name the file and the fault: its length, its header, a type that is not
  /// supported, a shape whose size differs from its range, ranges that overlap, leave gaps or reach past the end.
  static Expected<File> open(const std::string& path);
  /// Reads bytes in memory as open() reads a file; `name` stands for the file in messages.
  static Expected<File> parse(std::unique_ptr<llvm::MemoryBuffer> buffer, const std::string& name);

  /// All tensors in the order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// The tensor of a name; null if there is none.
  const TensorInfo* find(StringRef name) const;
  /// The file's path, or the name that was given to parse().
  const std::string& path() const { return path_; }
  /// Drops pages of the mapping from the process's memory; reading them again reads the file again. Keeps the memory of
  /// a large model from counting twice while it is copied. Does nothing for bytes that are not of this file.
  void letGo(ArrayRef<uint8_t> bytes) const;
  /// The BLAKE3 digest of the whole file, as writeSafeTensors() returns it.
  std::string digest() const;

 private:
  File() = default;
  std::string path_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  std::vector<TensorInfo> tensors_;
  llvm::StringMap<size_t> index_;
};

/// Writes tensors in the given order and returns the file's BLAKE3 digest. The bytes are referenced, not copied. The
/// file appears whole or not at all.
Expected<std::string> writeSafeTensors(const std::string& path, const std::vector<TensorInfo>& tensors);

/// BLAKE3 of the parts, one after the other, as 64 hexadecimal digits.
std::string digestOf(const std::vector<ArrayRef<uint8_t>>& parts);

}  // namespace expc::safetensors
