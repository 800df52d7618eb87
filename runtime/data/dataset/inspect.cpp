// Describes and verifies data sets. Both sets are numbered through, training images first, so that one parallel loop
// covers them.

#include "runtime/data/dataset/inspect.h"

#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/data/images/alike.h"
#include "runtime/data/images/decode.h"
#include "runtime/data/images/packed.h"

namespace expc::dataset {
namespace {

namespace fs = std::filesystem;
using Kind = data::Source::Kind;

/// Counts images by class. Both sets have the same classes.
void countClasses(const data::ImageSets& sets, Info& info) {
  for (int64_t label = 0; label < sets.train->classes(); ++label)
    info.classes.push_back({sets.train->className(label), 0, 0});
  for (int64_t i = 0; i < info.train; ++i) ++info.classes[sets.train->label(i)].train;
  for (int64_t i = 0; i < info.test; ++i) ++info.classes[sets.test->label(i)].test;
}

/// Widens the range of sizes by one image.
void addShape(Info& info, const data::Shape& shape) {
  data::Shape &low = info.smallest, &high = info.largest;
  if (low.rows == 0) low = high = shape;
  low.rows = std::min(low.rows, shape.rows);
  low.cols = std::min(low.cols, shape.cols);
  high.rows = std::max(high.rows, shape.rows);
  high.cols = std::max(high.cols, shape.cols);
}

/// Reads sizes and formats from the headers of files.
Error addHeaders(Info& info, const data::ImageSets& sets, unsigned threads, const base::Tick& tick) {
  std::mutex mutex;
  const auto work = [&](int64_t item) -> Error {
    const auto [set, index] = sets.at(item);
    auto file = TRY(files::map(set->file(index)));
    const StringRef bytes = file->getBuffer();
    const auto header = expectedToOptional(data::readHeader({bytes.bytes_begin(), bytes.size()}));
    const std::lock_guard lock(mutex);
    ++(!header ? info.unreadable : header->png ? info.png : info.jpeg);
    if (header) addShape(info, header->shape);
    return Error::success();
  };
  return base::forEach(sets.count(), threads, work, tick);
}

}  // namespace

const char* toString(Kind kind) {
  constexpr const char* kNames[] = {"mnist", "folder", "packed", "synthetic"};
  return kNames[size_t(kind)];
}

Expected<data::Source> recognise(const std::string& path) {
  std::error_code code;
  const fs::file_status status = fs::status(path, code);
  if (status.type() == fs::file_type::not_found) return failure("{}: no such file or folder", path);
  if (code) return files::systemError(path, code.value());
  if (status.type() != fs::file_type::directory) return data::Source{Kind::Packed, path, 0};
  // IDX files are looked for first: a folder of them may hold others as well.
  const fs::path folder = path;
  // The compressed name counts as well, so that the error can say how to unpack it.
  for (const char* name : {"train-images-idx3-ubyte", "train-images-idx3-ubyte.gz"})
    if (fs::exists(folder / name, code)) return data::Source{Kind::Mnist, path, 0};
  if (fs::is_directory(folder / "train", code) || fs::is_directory(folder / "test", code))
    return data::Source{Kind::Folder, path, 0};
  return failure(
      "{}: not a data set: expected train/CLASS/*.jpg (or .png) and test/CLASS/*.jpg in it, or MNIST's four IDX files "
      "(train-images-idx3-ubyte, …)",
      path);
}

Expected<Info> inspect(const data::Source& source, unsigned threads, const base::Tick& tick) {
  auto sets = TRY(data::open(source));
  Info info;
  info.kind = source.kind;
  info.train = sets.train->count();
  info.test = sets.test->count();
  countClasses(sets, info);
  // Sets whose images have one size need no look at each image.
  if (const auto shape = sets.train->shape())
    addShape(info, *shape);
  else
    TRY(addHeaders(info, sets, threads, tick));
  if (source.kind == Kind::Packed) {
    auto file = TRY(data::PackedFile::open(source.path));
    info.checksum = file->header().header_sum;
  }
  return info;
}

Expected<Verified> verify(const data::Source& source, unsigned threads, const base::Tick& tick) {
  auto sets = TRY(data::open(source));
  Verified result;
  result.images = sets.count();
  result.test = sets.test->count();
  // Keyed by number, since threads find damaged images in any order.
  std::map<int64_t, std::string> damaged;
  // Digests of all images of each set.
  std::vector<uint64_t> train, test;
  std::mutex mutex;
  const auto work = [&](int64_t item) -> Error {
    thread_local std::vector<uint8_t> decoded;
    const auto [set, index] = sets.at(item);
    auto pixels = set->read(index, decoded);
    const uint64_t digest = pixels ? data::digestOf(*pixels) : 0;
    const std::lock_guard lock(mutex);
    if (pixels)
      (set == sets.test.get() ? test : train).push_back(digest);
    else
      damaged[item] = toString(pixels.takeError());
    return Error::success();
  };
  TRY(base::forEach(result.images, threads, work, tick));
  // All images are decoded anyway, so leakage between the sets is counted on the way.
  result.also_trained = data::countAmong(test, train);
  for (auto& [item, why] : damaged) result.damaged.push_back(std::move(why));
  return result;
}

}  // namespace expc::dataset
