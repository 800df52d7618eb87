// Packs images. Threads decode and write images in any order: the header fixes where each image lies before the first
// is written. That needs their number, so if corrupt images are to be left out, a first attempt finds them and a second
// one writes the rest.
//
// The file is written beside its place and moved there when it is complete; header and index, which make it valid, are
// written last.

#include "runtime/data/dataset/pack.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <utility>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/preparer.h"

namespace expc::dataset {
namespace {

/// Appends the bytes of values as they lie in memory; the format is little-endian, as the machine is.
template <typename T>
void append(std::vector<uint8_t>& out, const T* values, size_t count) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values);
  out.insert(out.end(), bytes, bytes + count * sizeof(T));
}

/// An image of either set.
struct Item {
  const data::Images* set;
  int64_t index;
};
/// The images that go into the file, in its order.
struct Chosen {
  std::vector<Item> items;
  int64_t train = 0;  // the number of training images, which come first

  int64_t count() const { return std::ssize(items); }
  const Item& at(int64_t item) const { return items[item]; }
};

/// All images of both sets.
Chosen allOf(const data::ImageSets& sets) {
  Chosen chosen{{}, sets.train->count()};
  for (const data::Images* set : {sets.train.get(), sets.test.get()})
    for (int64_t index = 0; index < set->count(); ++index) chosen.items.push_back({set, index});
  return chosen;
}

/// Decides about an image that cannot be read: success, with the reason in `why`, if it may be left out; else the
/// error.
Error corruption(Error error, const PackOptions& options, std::string& why) {
  if (!error.isA<data::CorruptImage>()) return error;
  why = toString(std::move(error));
  if (!options.skip_corrupt) return failure("{}; fix it, or skip such images with --skip-corrupt", why);
  return Error::success();
}

/// The shape of all images in the file: of the size that was asked for, else that of the first image that can be
/// decoded.
Expected<data::Shape> shapeOf(const Chosen& chosen, const PackOptions& options) {
  std::vector<uint8_t> scratch;
  std::string ignored;
  for (const Item& item : chosen.items) {
    auto pixels = item.set->read(item.index, scratch);
    if (pixels) {
      data::Shape shape{pixels->rows, pixels->cols, pixels->channels};
      if (options.size > 0) shape.rows = shape.cols = options.size;
      return shape;
    }
    TRY(corruption(pixels.takeError(), options, ignored));
  }
  return failure("{}: none of its images can be decoded", chosen.at(0).set->origin());
}

/// One attempt at writing the file with a fixed list of images. It completes the file, or finds all images that are
/// corrupt. Errors name `path`.
class Attempt {
 public:
  /// Fills the header's counts; the layout follows in open().
  Attempt(const std::string& path, const Chosen& chosen, const data::Shape& shape, std::vector<std::string> class_names,
          const PackOptions& options)
      : path_(path),
        chosen_(chosen),
        options_(options),
        preparer_({shape.rows, shape.cols, shape.channels, data::Layout::Nhwc, data::Element::UInt8, false}),
        names_(std::move(class_names)),
        sums_(chosen.items.size()),
        labels_(chosen.items.size()) {
    assert(!names_.empty() && uint64_t(chosen.count()) < data::kMostPacked);
    std::memcpy(header_.magic, data::kPackedMagic, sizeof(header_.magic));
    header_.version = data::kPackedVersion;
    header_.rows = uint32_t(shape.rows);
    header_.cols = uint32_t(shape.cols);
    header_.channels = uint32_t(shape.channels);
    header_.classes = uint32_t(names_.size());
    header_.train = uint64_t(chosen.train);
    header_.test = uint64_t(chosen.count() - chosen.train);
    for (const std::string& name : names_) header_.name_bytes += sizeof(uint32_t) + name.size();
  }

  /// Writes to `temporary`, the name that files::writeBy gave. The file is complete if `corrupt` is empty afterwards.
  Error run(const std::string& temporary, const base::Tick& tick) {
    TRY(open(temporary));
    const auto work = [&](int64_t item) { return add(item); };
    TRY(base::forEach(chosen_.count(), options_.threads, work, tick));
    return corrupt.empty() ? finish() : Error::success();
  }

  const data::PackedHeader& header() const { return header_; }
  std::map<int64_t, std::string> corrupt;  // the reason for each image that cannot be read

 private:
  /// Fixes the layout and takes the room on the disk.
  Error open(const std::string& temporary) {
    if (names_.size() > data::kMostClasses || header_.name_bytes > data::kMostNameBytes)
      return failure("{} classes do not fit into a packed file", header_.classes);
    header_.pixels_at = data::packedPixelsAt(header_);
    header_.file_bytes = header_.pixels_at + header_.images() * header_.imageBytes();
    file_ = Descriptor(::open(temporary.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    if (file_ < 0) return files::systemError(path_, errno);
    // If the disk is too small, fallocate says so now rather than after all images are decoded. Some file systems
    // cannot do it.
    const auto bytes = off_t(header_.file_bytes);
    if (::fallocate(file_, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
      return failure("{}: {} ({} bytes are needed)", path_, std::generic_category().message(errno), header_.file_bytes);
    return Error::success();
  }

  /// Decodes, scales and writes one image. Called by several threads; each image has its own entries and place.
  Error add(int64_t item) {
    thread_local std::vector<uint8_t> decoded, prepared;
    const auto& [set, index] = chosen_.at(item);
    auto pixels = set->read(index, decoded);
    if (!pixels) {
      std::string why;
      TRY(corruption(pixels.takeError(), options_, why));
      const std::lock_guard lock(mutex_);
      corrupt[item] = std::move(why);
      return Error::success();
    }
    // A packed file has one size, so that an image's place is a product.
    if (options_.size == 0 && (pixels->rows != header_.rows || pixels->cols != header_.cols))
      return failure("{}: {} x {} pixels, others are {} x {}; scale them all with --size", set->nameOf(index),
                     pixels->cols, pixels->rows, header_.cols, header_.rows);
    prepared.resize(header_.imageBytes());
    if (auto error = preparer_.apply(*pixels, prepared.data()))
      return failure("{}: {}", set->nameOf(index), std::move(error));
    const auto at = uint64_t(item);
    labels_[at] = uint32_t(set->label(index));
    sums_[at] = data::packedSum(prepared);
    return put(prepared.data(), prepared.size(), header_.pixels_at + at * header_.imageBytes());
  }

  /// Writes everything in front of the pixels. The header comes last: without it the file is no packed file.
  Error finish() {
    std::vector<uint8_t> index;
    index.reserve(header_.pixels_at);
    append(index, sums_.data(), sums_.size());
    append(index, labels_.data(), labels_.size());
    for (const std::string& name : names_) {
      const auto length = uint32_t(name.size());
      append(index, &length, 1);
      append(index, name.data(), name.size());
    }
    // Zeros up to the pixels, which begin at a page.
    index.resize(header_.pixels_at - sizeof(header_));
    header_.index_sum = data::packedSum(index);
    header_.header_sum = data::headerSum(header_);
    TRY(put(index.data(), index.size(), sizeof(header_)));
    return put(&header_, sizeof(header_), 0);
  }

  /// Writes bytes at an offset.
  Error put(const void* bytes, uint64_t size, uint64_t at) {
    const auto* from = static_cast<const uint8_t*>(bytes);
    while (size > 0) {
      const ssize_t written = ::pwrite(file_, from, size, off_t(at));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return files::systemError(path_, written < 0 ? errno : ENOSPC);
      from += written;
      at += uint64_t(written);
      size -= uint64_t(written);
    }
    return Error::success();
  }

  const std::string& path_;
  const Chosen& chosen_;
  const PackOptions& options_;
  const data::Preparer preparer_;
  Descriptor file_;
  data::PackedHeader header_{};
  std::vector<std::string> names_;
  std::vector<uint64_t> sums_;
  std::vector<uint32_t> labels_;
  std::mutex mutex_;  // guards `corrupt`
};

/// The images that are left when the corrupt ones are taken out.
Chosen without(const Chosen& chosen, const std::map<int64_t, std::string>& corrupt) {
  Chosen rest;
  for (int64_t item = 0; item < chosen.count(); ++item) {
    if (corrupt.contains(item)) continue;
    rest.items.push_back(chosen.at(item));
    rest.train += item < chosen.train ? 1 : 0;
  }
  return rest;
}

}  // namespace

Expected<Packed> pack(const data::ImageSets& sets, const std::string& path, const PackOptions& options,
                      const base::Tick& tick) {
  // Names are taken from the training set; both sets have the same classes.
  Chosen chosen = allOf(sets);
  std::vector<std::string> names;
  for (int64_t label = 0; label < sets.train->classes(); ++label) names.push_back(sets.train->className(label));
  auto shape = TRY(shapeOf(chosen, options));
  Packed result;
  const auto write = [&](const std::string& temporary) -> Error {
    // The places of images depend on how many there are, so if some are left out, the rest is written again. A second
    // attempt may find more only if files change meanwhile.
    while (true) {
      if (chosen.train == 0 || chosen.train == chosen.count())
        return failure("{}: none of its images can be decoded; the first: {}",
                       (chosen.train == 0 ? sets.train : sets.test)->origin(), result.left_out.front());
      Attempt attempt(path, chosen, shape, names, options);
      TRY(attempt.run(temporary, tick));
      result.header = attempt.header();
      if (attempt.corrupt.empty()) return Error::success();
      for (const auto& [item, why] : attempt.corrupt) result.left_out.push_back(why);
      chosen = without(chosen, attempt.corrupt);
    }
  };
  TRY(files::writeBy(path, write));
  return result;
}

}  // namespace expc::dataset
