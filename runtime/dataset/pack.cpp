#include "runtime/dataset/pack.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/files/files.h"
#include "runtime/worker/data/preparer.h"

namespace expc::dataset {
namespace {

using base::failure;

template <typename T>
void append(std::vector<uint8_t>& out, const T* values, size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

/// Writes the files that runtime/worker/data/packed.h describes.
class PackedWriter {
 public:
  /// Takes the room on the disk, under a name that files::writeBy gave; errors name `path`. `train` and `test` are
  /// numbers of images, at least 1 each.
  static llvm::Expected<std::unique_ptr<PackedWriter>> create(const std::string& path, const std::string& temporary,
                                                              const data::Shape& shape,
                                                              std::vector<std::string> class_names, uint64_t train,
                                                              uint64_t test) {
    assert(train > 0 && test > 0 && train < data::kMostPacked && test < data::kMostPacked && !class_names.empty());
    std::unique_ptr<PackedWriter> writer(new PackedWriter);
    writer->path_ = path;
    writer->names_ = std::move(class_names);
    data::PackedHeader& header = writer->header_;
    std::memcpy(header.magic, data::kPackedMagic, sizeof(header.magic));
    header.version = data::kPackedVersion;
    header.rows = static_cast<uint32_t>(shape.rows);
    header.cols = static_cast<uint32_t>(shape.cols);
    header.channels = static_cast<uint32_t>(shape.channels);
    header.classes = static_cast<uint32_t>(writer->names_.size());
    header.train = train;
    header.test = test;
    for (const std::string& name : writer->names_) header.name_bytes += sizeof(uint32_t) + name.size();
    if (writer->names_.size() > data::kMostClasses || header.name_bytes > data::kMostNameBytes)
      return failure("{} classes are more than a packed file can hold", header.classes);
    header.pixels_at = data::packedPixelsAt(header);
    header.file_bytes = header.pixels_at + header.images() * header.imageBytes();
    writer->sums_.resize(header.images());
    writer->labels_.resize(header.images());

    writer->file_ = ::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (writer->file_ < 0) return files::systemError(path, errno);
    // A disk that is too small says so now, where the file system can; else when it is full.
    const auto bytes = static_cast<off_t>(header.file_bytes);
    if (::fallocate(writer->file_, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
      return failure("{}: {} ({} bytes are needed)", path, std::generic_category().message(errno), header.file_bytes);
    return writer;
  }
  ~PackedWriter() {
    if (file_ >= 0) ::close(file_);
  }
  PackedWriter(const PackedWriter&) = delete;
  PackedWriter& operator=(const PackedWriter&) = delete;

  /// Training images come first, then test images. Each once, in any order, from any thread.
  llvm::Error write(uint64_t image, uint32_t label, const uint8_t* pixels) {
    assert(image < header_.images() && label < header_.classes);
    labels_[image] = label;
    sums_[image] = data::packedSum({pixels, header_.imageBytes()});
    return put(pixels, header_.imageBytes(), header_.pixels_at + image * header_.imageBytes());
  }

  /// After every image.
  llvm::Expected<data::PackedHeader> finish() {
    const std::vector<uint8_t> bytes = index();
    header_.index_sum = data::packedSum(bytes);
    header_.header_sum = data::headerSum(header_);
    if (auto error = put(bytes.data(), bytes.size(), sizeof(header_))) return error;
    if (auto error = put(&header_, sizeof(header_), 0)) return error;
    if (::close(std::exchange(file_, -1)) != 0) return files::systemError(path_, errno);
    return header_;
  }

 private:
  PackedWriter() = default;

  llvm::Error put(const void* bytes, uint64_t size, uint64_t at) {
    const auto* from = static_cast<const uint8_t*>(bytes);
    while (size > 0) {
      const ssize_t written = ::pwrite(file_, from, size, static_cast<off_t>(at));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return files::systemError(path_, written < 0 ? errno : ENOSPC);
      from += written;
      at += static_cast<uint64_t>(written);
      size -= static_cast<uint64_t>(written);
    }
    return llvm::Error::success();
  }

  std::vector<uint8_t> index() const {
    std::vector<uint8_t> bytes;
    bytes.reserve(header_.pixels_at);
    append(bytes, sums_.data(), sums_.size());
    append(bytes, labels_.data(), labels_.size());
    for (const std::string& name : names_) {
      const auto length = static_cast<uint32_t>(name.size());
      append(bytes, &length, 1);
      append(bytes, name.data(), name.size());
    }
    bytes.resize(header_.pixels_at - sizeof(header_));
    return bytes;
  }

  std::string path_;
  int file_ = -1;
  data::PackedHeader header_{};
  std::vector<std::string> names_;
  std::vector<uint64_t> sums_;
  std::vector<uint32_t> labels_;
};

/// Images of both sets that go into the file, in its order.
struct Chosen {
  const data::ImageSets& sets;
  std::vector<int64_t> train, test;

  int64_t count() const { return static_cast<int64_t>(train.size() + test.size()); }
  bool isTest(int64_t item) const { return item >= static_cast<int64_t>(train.size()); }
  const data::Images& set(int64_t item) const { return isTest(item) ? *sets.test : *sets.train; }
  int64_t index(int64_t item) const {
    const auto i = static_cast<size_t>(item);
    return isTest(item) ? test[i - train.size()] : train[i];
  }
  std::string name(int64_t item) const {
    const std::string file = set(item).file(index(item));
    return file.empty() ? fmt::format("{}: image {}", set(item).origin(), index(item)) : file;
  }
};

std::vector<int64_t> upTo(int64_t count) {
  std::vector<int64_t> result(static_cast<size_t>(count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = static_cast<int64_t>(i);
  return result;
}

/// Success where the image can be left out, with the reason; else the error.
llvm::Error corruption(llvm::Error error, const PackOptions& options, std::string* why = nullptr) {
  if (!error.isA<data::CorruptImage>()) return error;
  std::string text = llvm::toString(std::move(error));
  if (!options.skip_corrupt) return failure("{}; mend it, or leave such images out with --skip-corrupt", text);
  if (why != nullptr) *why = std::move(text);
  return llvm::Error::success();
}

/// What all images are packed as: of the size asked for, else of the first one that can be decoded.
llvm::Expected<data::Shape> shapeOf(const Chosen& chosen, const PackOptions& options) {
  std::vector<uint8_t> scratch;
  for (int64_t item = 0; item < chosen.count(); ++item) {
    auto pixels = chosen.set(item).read(chosen.index(item), scratch);
    if (pixels) {
      data::Shape shape{pixels->rows, pixels->cols, pixels->channels};
      if (options.size > 0) shape.rows = shape.cols = options.size;
      return shape;
    }
    llvm::Error error = pixels.takeError();
    if (auto left = corruption(std::move(error), options)) return left;
  }
  return failure("{}: none of its images can be decoded", chosen.sets.train->origin());
}

/// One attempt: writes all that are chosen, or finds those that are corrupt.
class Attempt {
 public:
  Attempt(const Chosen& chosen, const data::Shape& shape, const PackOptions& options)
      : chosen_(chosen),
        shape_(shape),
        options_(options),
        preparer_({shape.rows, shape.cols, shape.channels, data::Layout::Nhwc, data::Element::UInt8, false}) {}

  llvm::Error run(PackedWriter& writer, const base::Tick& tick) {
    return base::forEach(chosen_.count(), options_.threads, [&](int64_t item) { return one(writer, item); }, tick);
  }

  std::map<int64_t, std::string> corrupt;  // item -> why

 private:
  llvm::Error one(PackedWriter& writer, int64_t item) {
    thread_local std::vector<uint8_t> decoded, prepared;
    const data::Images& set = chosen_.set(item);
    const int64_t index = chosen_.index(item);
    auto pixels = set.read(index, decoded);
    if (!pixels) {
      std::string why;
      if (auto left = corruption(pixels.takeError(), options_, &why)) return left;
      const std::lock_guard lock(mutex_);
      corrupt[item] = std::move(why);
      return llvm::Error::success();
    }
    if (options_.size == 0 && (pixels->rows != shape_.rows || pixels->cols != shape_.cols))
      return failure("{}: {} x {} pixels, others are {} x {}; scale them all with --size", chosen_.name(item),
                     pixels->cols, pixels->rows, shape_.cols, shape_.rows);
    prepared.resize(static_cast<size_t>(shape_.rows * shape_.cols * shape_.channels));
    if (auto error = preparer_.apply(*pixels, prepared.data()))
      return failure("{}: {}", chosen_.name(item), llvm::toString(std::move(error)));
    return writer.write(static_cast<uint64_t>(item), static_cast<uint32_t>(set.label(index)), prepared.data());
  }

  const Chosen& chosen_;
  const data::Shape shape_;
  const PackOptions& options_;
  const data::Preparer preparer_;
  std::mutex mutex_;
};

void leaveOut(Chosen& chosen, const std::map<int64_t, std::string>& corrupt) {
  std::vector<int64_t> train, test;
  for (int64_t item = 0; item < chosen.count(); ++item)
    if (!corrupt.contains(item)) (chosen.isTest(item) ? test : train).push_back(chosen.index(item));
  chosen.train = std::move(train);
  chosen.test = std::move(test);
}

}  // namespace

llvm::Expected<Packed> pack(const data::ImageSets& sets, const std::string& path, const PackOptions& options,
                            const base::Tick& tick) {
  Chosen chosen{sets, upTo(sets.train->count()), upTo(sets.test->count())};
  std::vector<std::string> names;
  for (int64_t label = 0; label < sets.train->classes(); ++label) names.push_back(sets.train->className(label));
  auto shape = shapeOf(chosen, options);
  if (!shape) return shape.takeError();
  Packed result;
  auto failed = files::writeBy(path, [&](const std::string& temporary) -> llvm::Error {
    // Where images lie depends on how many there are: if some are left out, the rest is written again.
    while (true) {
      if (chosen.train.empty() || chosen.test.empty())
        return failure("{}: none of its images can be decoded; the first: {}",
                       (chosen.train.empty() ? sets.train : sets.test)->origin(), result.left_out.front());
      auto writer = PackedWriter::create(path, temporary, *shape, names, chosen.train.size(), chosen.test.size());
      if (!writer) return writer.takeError();
      Attempt attempt(chosen, *shape, options);
      if (auto error = attempt.run(**writer, tick)) return error;
      if (attempt.corrupt.empty()) {
        auto header = (*writer)->finish();
        if (!header) return header.takeError();
        result.header = *header;
        return llvm::Error::success();
      }
      for (const auto& [item, why] : attempt.corrupt) result.left_out.push_back(why);
      leaveOut(chosen, attempt.corrupt);
    }
  });
  if (failed) return failed;
  return result;
}

}  // namespace expc::dataset
