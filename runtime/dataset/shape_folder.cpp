#include "runtime/dataset/shape_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Errno.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/dataset/encode.h"
#include "runtime/dataset/shapes.h"
#include "runtime/files/files.h"

namespace expc::dataset {
namespace {

using base::failure;

namespace fs = std::filesystem;

constexpr const char* kMark = "shapes.json";

llvm::Error writeFile(const fs::path& path, llvm::ArrayRef<uint8_t> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return failure("{}: {}", path.string(), llvm::sys::StrError(errno));
  int code = files::writeAll(file, llvm::toStringRef(bytes));
  if (::close(file) != 0 && code == 0) code = errno;
  return code == 0 ? llvm::Error::success() : failure("{}: {}", path.string(), llvm::sys::StrError(code));
}

llvm::Error drawAll(const fs::path& root, const ShapeOptions& options, const base::Tick& tick) {
  const int64_t tests = shapeTests(options);
  const char* ending = options.png ? "png" : "jpg";
  return base::forEach(
      options.count + tests, options.threads,
      [&](int64_t item) -> llvm::Error {
        thread_local std::vector<uint8_t> pixels;
        const bool test = item >= options.count;
        const int64_t number = test ? item - options.count : item, label = number % options.classes;
        pixels.resize(static_cast<size_t>(options.size * options.size * 3));
        drawShape(label, options.size, options.seed, test, number, pixels.data());
        auto bytes = options.png ? encodePng(pixels.data(), options.size) : encodeJpeg(pixels.data(), options.size);
        if (!bytes) return bytes.takeError();
        return writeFile(root / (test ? "test" : "train") / shapeClass(label) / fmt::format("{:07}.{}", number, ending),
                         *bytes);
      },
      tick);
}

llvm::Error fill(const fs::path& root, const ShapeOptions& options, const base::Tick& tick) {
  std::error_code code;
  for (const char* set : {"train", "test"})
    for (int64_t label = 0; label < options.classes && !code; ++label)
      fs::create_directories(root / set / shapeClass(label), code);
  if (code) return failure("{}: {}", root.string(), code.message());
  if (auto error = drawAll(root, options, tick)) return error;
  const std::string mark =
      fmt::format(R"({{"made":"shapes","size":{},"count":{},"classes":{},"format":"{}","seed":{}}})"
                  "\n",
                  options.size, options.count, options.classes, options.png ? "png" : "jpeg", options.seed);
  if (auto error = writeFile(root / kMark, {reinterpret_cast<const uint8_t*>(mark.data()), mark.size()})) return error;
  // One call for all files, rather than one for each.
  const base::Descriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder >= 0 && ::syncfs(folder) == 0) return llvm::Error::success();
  return failure("{}: {}", root.string(), llvm::sys::StrError(errno));
}

/// Whether the folder's place can be taken: free, empty, or made by us and to be replaced.
llvm::Error checkPlace(const fs::path& folder, bool replace) {
  std::error_code code;
  const fs::file_status status = fs::status(folder, code);
  if (status.type() == fs::file_type::not_found) return llvm::Error::success();
  if (code) return failure("{}: {}", folder.string(), code.message());
  if (status.type() != fs::file_type::directory)
    return failure("{} is there already, and is no folder", folder.string());
  if (fs::is_empty(folder, code) && !code) return llvm::Error::success();
  if (code) return failure("{}: {}", folder.string(), code.message());
  const bool ours = fs::exists(folder / kMark, code);
  if (replace && ours) return llvm::Error::success();
  if (replace)
    return failure(
        "{} is there already and was not made by `expc data make` (no {} in it): choose another name, or "
        "remove it yourself",
        folder.string(), kMark);
  return failure("{} is there already; choose another name{}", folder.string(),
                 ours ? ", or replace it with --force" : "");
}

}  // namespace

int64_t shapeTests(const ShapeOptions& options) { return std::max(options.classes, options.count / 5); }

llvm::Error makeShapes(const std::string& folder, const ShapeOptions& options, bool replace, const base::Tick& tick) {
  assert(options.size >= kSmallestShape && options.size <= kLargestShape && options.classes >= 2 &&
         options.classes <= kMostShapeClasses && options.count >= options.classes);
  fs::path place = fs::path(folder).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // "images/"
  if (auto error = checkPlace(place, replace)) return error;
  const std::string draft = files::temporaryBeside(place.string());
  const auto removed = llvm::make_scope_exit([&] { files::removeTree(draft); });
  if (auto error = fill(draft, options, tick)) return error;
  // One of ours that is there becomes the draft, at once: at no moment is there none.
  std::error_code none;
  if (!fs::exists(place / kMark, none)) return files::move(draft, place.string());
  if (::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0)
    return llvm::Error::success();
  return failure("{} cannot be replaced: {}; choose another name, or remove it yourself", place.string(),
                 llvm::sys::StrError(errno));
}

}  // namespace expc::dataset
