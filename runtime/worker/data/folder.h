#pragma once

// Class folders of JPEG and PNG files, listed as torchvision's ImageFolder lists them.

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/worker/data/images.h"

namespace expc::data {

/// path/CLASS/…/*.jpg, .jpeg or .png (in any case). Classes are the folders in `path`, sorted by name, from 0; the
/// files of a class are sorted by folder, then by name. Other files are ignored, except images that nobody could read
/// here.
class FolderImages : public Images {
 public:
  /// Lists, reads no image. An error when there is no class, a class without an image, or a folder cannot be read.
  static llvm::Expected<std::unique_ptr<FolderImages>> create(const std::string& path);

  int64_t count() const override { return static_cast<int64_t>(labels_.size()); }
  int64_t classes() const override { return static_cast<int64_t>(names_.size()); }
  const std::string& origin() const override { return path_; }
  std::optional<Shape> shape() const override { return std::nullopt; }
  int64_t label(int64_t index) const override { return labels_[static_cast<size_t>(index)]; }
  std::string className(int64_t label) const override { return names_[static_cast<size_t>(label)]; }
  llvm::Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const override;
  llvm::Expected<Pixels> readInto(int64_t index, const Shape& wanted, uint8_t* out,
                                  std::vector<uint8_t>& scratch) const override;
  std::string file(int64_t index) const override;

  const std::vector<std::string>& classNames() const { return names_; }

 private:
  void add(const std::string& relative, uint32_t label);
  llvm::Error addClass(const std::string& name, uint32_t label);

  std::string path_;
  std::vector<std::string> names_;
  // A million names in one piece of memory: name i ends at ends_[i].
  std::string files_;
  std::vector<uint64_t> ends_;
  std::vector<uint32_t> labels_;
};

/// path/train and path/test, which must have the same classes.
llvm::Expected<ImageSets> openFolder(const std::string& path);

}  // namespace expc::data
