#pragma once

// The safetensors format: 8 bytes little-endian header length, a JSON header, then the tensors' bytes. Files may come
// from anywhere, so nothing in one is believed before it is checked. No torch here.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace expc::io {

enum class DType { Bool, U8, I8, I32, I64, F16, BF16, F32, F64 };

/// Bytes of one element.
int64_t elementBytes(DType type);
/// The format's name of a type, "F32".
const char* dtypeName(DType type);

struct TensorInfo {
  std::string name;
  DType dtype = DType::F32;
  std::vector<int64_t> shape;     // row-major; empty for a scalar
  llvm::ArrayRef<uint8_t> bytes;  // little-endian, not necessarily aligned

  int64_t elements() const;
};

class SafeTensors {
 public:
  /// Opens (memory-maps) a file. Errors name the file and what is wrong: length, header, a type, a shape whose size
  /// differs from its range, ranges that overlap, leave gaps or reach past the end.
  static llvm::Expected<SafeTensors> open(const std::string& path);
  /// The same for bytes in memory; `name` stands for the file in messages.
  static llvm::Expected<SafeTensors> parse(std::unique_ptr<llvm::MemoryBuffer> buffer, const std::string& name);

  /// In the order of their bytes.
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  /// Null if there is none of that name.
  const TensorInfo* find(llvm::StringRef name) const;
  const std::string& path() const { return path_; }
  /// Bytes of the file leave the process's memory until they are read again; of other bytes nothing happens.
  void letGo(llvm::ArrayRef<uint8_t> bytes) const;
  /// BLAKE3 of the whole file, as writeSafeTensors returns it.
  std::string digest() const;

 private:
  SafeTensors() = default;
  std::string path_;
  std::unique_ptr<llvm::MemoryBuffer> buffer_;
  std::vector<TensorInfo> tensors_;
  llvm::StringMap<size_t> index_;
};

/// Writes tensors in the given order and returns the file's BLAKE3 digest. The bytes are referenced, not copied; the
/// file appears whole or not at all (files::writeBy).
llvm::Expected<std::string> writeSafeTensors(const std::string& path, const std::vector<TensorInfo>& tensors);

/// BLAKE3 of the parts, one after the other, as 64 hexadecimal digits.
std::string digestOf(const std::vector<llvm::ArrayRef<uint8_t>>& parts);

}  // namespace expc::io
