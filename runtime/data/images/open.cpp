// Opens folders of images in the order of torchvision's ImageFolder, which fixes labels and indices, and dispatches the
// other kinds of data. Listing a folder of a million images reads only directories; the names lie in one string, which
// is smaller and faster than a million strings.

#include "runtime/data/images/open.h"

#include <fcntl.h>
#include <llvm/Support/ErrorHandling.h>
#include <llvm/Support/FileSystem.h>
#include <llvm/Support/Path.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/packed.h"

namespace expc::data {
namespace {

constexpr int kDeepest = 32;  // levels of folders in folders; deeper is a link that leads back

/// The content of one folder.
struct Listed {
  std::vector<std::string> folders, files;  // names, sorted
};

/// Lists a folder, with its names sorted. Links are followed, as os.walk(followlinks=True) does in torchvision.
Expected<Listed> contentsOf(const std::string& path) {
  Listed result;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    auto type = entry->type();
    if (type == llvm::sys::fs::file_type::symlink_file || type == llvm::sys::fs::file_type::type_unknown) {
      auto status = entry->status();  // follows links; a broken one counts as a file, whose reading will fail
      type = status ? status->type() : llvm::sys::fs::file_type::regular_file;
    }
    const std::string name = llvm::sys::path::filename(entry->path()).str();
    (type == llvm::sys::fs::file_type::directory_file ? result.folders : result.files).push_back(name);
  }
  // A folder that cannot be listed is an error: passing over it would train on part of the set.
  if (error) return files::systemError(path, error.value());
  std::ranges::sort(result.folders);
  std::ranges::sort(result.files);
  return result;
}

/// Whether a file is an image by its name.
bool readable(StringRef name) {
  return name.ends_with_insensitive(".jpg") || name.ends_with_insensitive(".jpeg") ||
         name.ends_with_insensitive(".png");
}

/// Whether torchvision would read a file that this does not. Leaving it out would silently give another set of images.
bool otherImage(StringRef name) {
  for (const char* ending : {".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp"})
    if (name.ends_with_insensitive(ending)) return true;
  return false;
}

/// The files of a class by folder: the folder's path below the class ("" or "a/b/"), and the names of its images.
using Below = std::vector<std::pair<std::string, std::vector<std::string>>>;

/// Adds the folder `below` of a class, and the folders in it, to `result`.
Error gather(const std::string& root, const std::string& below, int depth, Below& result) {
  if (depth > kDeepest) return failure("{}/{}: folders are nested without end", root, below);
  auto listed = TRY(contentsOf(below.empty() ? root : root + "/" + below));
  std::vector<std::string> images;
  for (std::string& name : listed.files) {
    if (readable(name))
      images.push_back(std::move(name));
    else if (otherImage(name))
      return failure("{}/{}{}: expected JPEG or PNG files; convert it, or remove it", root, below, name);
  }
  result.emplace_back(below, std::move(images));
  for (const std::string& name : listed.folders) TRY(gather(root, below + name + "/", depth + 1, result));
  return Error::success();
}

/// The bytes of a file, in memory that the thread keeps; valid until the thread's next call.
Expected<ArrayRef<uint8_t>> fileBytes(const std::string& path) {
  static thread_local std::vector<uint8_t> memory;
  // O_NONBLOCK: a named pipe that is called like an image must not block the loader.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status{};
  if (file < 0 || ::fstat(file, &status) != 0) return files::systemError(path, errno);
  if (!S_ISREG(status.st_mode)) return failure("{}: not a file", path);
  if (status.st_size > kLargestFile)
    return llvm::make_error<CorruptImage>(
        fmt::format("{}: {} bytes, expected an image of at most {}", path, status.st_size, kLargestFile));
  const auto wanted = size_t(status.st_size);
  // The buffer only grows: shrinking it would mean to zero it again for the next larger file.
  if (memory.size() < wanted) memory.resize(wanted);
  size_t size = 0;
  while (size < wanted) {
    const ssize_t got = ::read(file, memory.data() + size, wanted - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return files::systemError(path, errno);
    if (got == 0) break;  // the file became shorter; the decoder reports the damage
    size += size_t(got);
  }
  return ArrayRef<uint8_t>(memory.data(), size);
}

/// Decodes a file. The error names the file and keeps its kind.
Expected<Pixels> decodeFile(const std::string& path, const Destination& to) {
  auto bytes = TRY(fileBytes(path));
  auto pixels = decode(bytes, to);
  if (pixels) return pixels;
  Error error = pixels.takeError();
  // Naming the file must not change the kind of error, by which loaders decide whether to pass over the image.
  const bool corrupt = error.isA<CorruptImage>();
  std::string message = path + ": " + toString(std::move(error));
  if (corrupt) return llvm::make_error<CorruptImage>(std::move(message));
  return failure("{}", message);
}

class FolderImages : public Images {
 public:
  /// Lists the folder; reads no image.
  Error list(const std::string& path);

  int64_t count() const override { return std::ssize(labels_); }
  int64_t classes() const override { return std::ssize(names_); }
  const std::string& origin() const override { return path_; }
  std::optional<Shape> shape() const override { return std::nullopt; }
  int64_t label(int64_t index) const override { return labels_[index]; }
  std::string className(int64_t label) const override { return names_[label]; }
  Expected<Pixels> read(int64_t index, std::vector<uint8_t>& scratch) const override {
    return decodeFile(file(index), {{}, nullptr, &scratch});
  }
  Expected<Pixels> readInto(int64_t index, const Shape& wanted, uint8_t* out,
                            std::vector<uint8_t>& scratch) const override {
    return decodeFile(file(index), {wanted, out, &scratch});
  }
  std::string file(int64_t index) const override {
    const auto i = size_t(index);
    const uint64_t begin = i == 0 ? 0 : ends_[i - 1];
    return path_ + "/" + files_.substr(begin, ends_[i] - begin);
  }

 private:
  /// Lists one class.
  Error addClass(const std::string& name, uint32_t label);

  std::string path_;
  std::vector<std::string> names_;
  // A million names in one piece of memory: name i ends at ends_[i], where name i + 1 begins.
  std::string files_;
  std::vector<uint64_t> ends_;
  std::vector<uint32_t> labels_;
};

Error FolderImages::addClass(const std::string& name, uint32_t label) {
  Below below;
  TRY(gather(path_ + "/" + name, "", 0, below));
  // Python sorts the results of os.walk by the folder's path, which has no slash at its end.
  std::ranges::sort(below, [](const auto& a, const auto& b) {
    return StringRef(a.first).rtrim('/') < StringRef(b.first).rtrim('/');
  });
  // A class without an image would be a label that never occurs.
  const size_t before = labels_.size();
  for (const auto& [folder, images] : below)
    for (const std::string& image : images) {
      files_ += name + "/" + folder + image;
      ends_.push_back(files_.size());
      labels_.push_back(label);
    }
  if (labels_.size() == before) return failure("{}/{}: no JPEG or PNG file in this class", path_, name);
  return Error::success();
}

Error FolderImages::list(const std::string& path) {
  path_ = path;
  if (!llvm::sys::fs::is_directory(path))
    return failure("{}: no such folder; expected one with a folder for each class", path);
  auto listed = TRY(contentsOf(path));
  names_ = std::move(listed.folders);
  if (names_.empty())
    return failure("{}: no folder in it, expected one for each class with its JPEG or PNG files", path);
  for (size_t label = 0; label < names_.size(); ++label) TRY(addClass(names_[label], uint32_t(label)));
  return Error::success();
}

}  // namespace

Expected<std::unique_ptr<Images>> openClasses(const std::string& path) {
  auto images = std::make_unique<FolderImages>();
  TRY(images->list(path));
  return images;
}

Expected<ImageSets> openFolder(const std::string& path) {
  for (const char* set : {"train", "test"}) {
    if (llvm::sys::fs::is_directory(path + "/" + set)) continue;
    if (!llvm::sys::fs::is_directory(path))
      return failure("{}: no such folder; expected one with train/CLASS/*.jpg and test/CLASS/*.jpg", path);
    return failure("{}: no folder {} in it; expected train/CLASS/*.jpg and test/CLASS/*.jpg", path, set);
  }
  ImageSets sets;
  sets.train = TRY(openClasses(path + "/train"));
  sets.test = TRY(openClasses(path + "/test"));
  // Labels are numbered by name in each set; equal names in both make equal labels.
  const auto namesOf = [](const Images& set) {
    std::vector<std::string> names;  // sorted
    for (int64_t label = 0; label < set.classes(); ++label) names.push_back(set.className(label));
    return names;
  };
  const auto wanted = namesOf(*sets.train), found = namesOf(*sets.test);
  for (const std::string& name : wanted)
    if (!std::ranges::binary_search(found, name))
      return failure("{}/test: class {} is missing, which {}/train has", path, name, path);
  for (const std::string& name : found)
    if (!std::ranges::binary_search(wanted, name))
      return failure("{}/test: class {} is not one of {}/train", path, name, path);
  return sets;
}

Expected<ImageSets> open(const Source& source) {
  switch (source.kind) {
    case Source::Kind::Mnist:
      return readMnist(source.path);
    case Source::Kind::Synthetic:
      return synthetic(source.count);
    case Source::Kind::Folder:
      return openFolder(source.path);
    case Source::Kind::Packed:
      return openPacked(source.path);
  }
  llvm_unreachable("no other kind of data");
}

}  // namespace expc::data
