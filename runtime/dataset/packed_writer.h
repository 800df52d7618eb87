#pragma once

// Writes the files that runtime/worker/data/packed.h describes.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/worker/data/packed.h"

namespace expc::dataset {

class PackedWriter {
 public:
  /// Takes the room on the disk, under a name that files::writeBy gave; errors name `path`. `train` and `test` are
  /// numbers of images, at least 1 each.
  static llvm::Expected<std::unique_ptr<PackedWriter>> create(const std::string& path, const std::string& temporary,
                                                              const data::Shape& shape,
                                                              std::vector<std::string> class_names, uint64_t train,
                                                              uint64_t test);
  ~PackedWriter();
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  /// Training images come first, then test images. Each once, in any order, from any thread.
  llvm::Error write(uint64_t image, uint32_t label, const uint8_t* pixels);
  /// After every image.
  llvm::Expected<data::PackedHeader> finish();

 private:
  PackedWriter() = default;
  llvm::Error put(const void* bytes, uint64_t size, uint64_t at);
  std::vector<uint8_t> index() const;

  std::string path_;
  int file_ = -1;
  data::PackedHeader header_{};
  std::vector<std::string> names_;
  std::vector<uint64_t> sums_;
  std::vector<uint32_t> labels_;
};

}  // namespace expc::dataset
