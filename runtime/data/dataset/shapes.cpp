// Draws, encodes and writes the images. A picture has three parts: a ground of two interpolated lattices of random
// colours, a form with smooth edges, and grain. Coordinates are in fixed point; nothing depends on floating-point
// rounding or on a library's random distributions.

#include "runtime/data/dataset/shapes.h"

#include <fcntl.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/Errno.h>
#include <png.h>
#include <turbojpeg.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/split_mix.h"

namespace expc::dataset {
namespace {

namespace fs = std::filesystem;

/// SplitMix64, with ranges by multiplication.
class Random {
 public:
  explicit Random(uint64_t state) : state_(state) {}
  uint64_t next() { return base::splitMix(state_); }
  /// A number from low to high, both included.
  int64_t within(int64_t low, int64_t high) { return low + int64_t((next() >> 32) * uint64_t(high - low + 1) >> 32); }

 private:
  uint64_t state_;
};

/// A colour of classes: name, and red, green, blue.
struct Named {
  const char* name;
  std::array<int, 3> colour;
};
constexpr Named kColours[] = {{"red", {215, 30, 30}},     {"green", {30, 175, 50}},    {"blue", {35, 60, 215}},
                              {"yellow", {230, 215, 35}}, {"magenta", {210, 40, 190}}, {"cyan", {40, 205, 215}},
                              {"black", {15, 15, 15}},    {"white", {245, 245, 245}}};

/// The radius of every form in its own coordinates.
constexpr int64_t kUnit = 1024;

/// A place in a form's own coordinates: v is the distance downwards from the middle, a and b the absolute distances
/// across and down, square the squared distance.
struct Local {
  int64_t v, a, b, square;
};
/// A form: whether it covers a place.
struct Form {
  const char* name;
  bool (*has)(const Local& at);
};
constexpr Form kForms[] = {
    {"disc", [](const Local& at) { return at.square <= 900 * 900; }},
    {"ring", [](const Local& at) { return at.square <= 960 * 960 && at.square >= 560 * 560; }},
    {"square", [](const Local& at) { return std::max(at.a, at.b) <= 740; }},
    {"frame", [](const Local& at) { return std::max(at.a, at.b) <= 800 && std::max(at.a, at.b) >= 470; }},
    {"triangle", [](const Local& at) { return at.v <= 512 && at.a * 1536 <= 887 * (at.v + 1024); }},
    {"cross", [](const Local& at) { return std::min(at.a, at.b) <= 280 && std::max(at.a, at.b) <= 980; }},
    {"bar", [](const Local& at) { return at.a <= 270 && at.b <= 1000; }},
    {"star", [](const Local& at) { return std::max(at.a, at.b) <= 1000 && at.a * at.b <= 80'000; }}};
constexpr int64_t kForm = std::size(kForms), kColour = std::size(kColours);
static_assert(kForm * kColour == kMostShapeClasses);

const Form& formOf(int64_t label) { return kForms[label % kForm]; }
// Labels that differ by kForm have the same form, so the colour moves on by one for each round of forms: every
// combination occurs once.
const Named& colourOf(int64_t label) { return kColours[(label + label / kForm) % kColour]; }

/// A form placed in an image: positions in quarters of a pixel, the turn as cosine and sine times 4096.
struct Placed {
  const Form& form;
  int64_t x, y, radius, cosine, sine;

  /// Draws place, size and turn; the form lies near the middle.
  Placed(int64_t label, int64_t size, Random& random) : form(formOf(label)) {
    x = random.within(size * 4 * 35 / 100, size * 4 * 65 / 100);
    y = random.within(size * 4 * 35 / 100, size * 4 * 65 / 100);
    radius = random.within(size * 4 * 18 / 100, size * 4 * 32 / 100);
    // Any angle without a table of sines: (d² - n²) / (d² + n²) and 2nd / (d² + n²) are the cosine and sine of an angle
    // up to a quarter turn; more quarters are added by swapping them.
    const int64_t d = 64, n = random.within(0, d), quarter = random.within(0, 3);
    cosine = 4096 * (d * d - n * n) / (d * d + n * n);
    sine = 4096 * 2 * n * d / (d * d + n * n);
    for (int64_t i = 0; i < quarter; ++i) cosine = std::exchange(sine, cosine) * -1;
  }

  /// How much of a pixel the form covers, from 0 to 4: the number of its four sample points inside.
  int covers(int64_t col, int64_t row) const {
    int result = 0;
    // Four samples a pixel smooth the edges. The inverse turn and scale bring each into the form's coordinates.
    for (int64_t sample = 0; sample < 4; ++sample) {
      const int64_t dx = col * 4 + (sample % 2 == 0 ? 1 : 3) - x, dy = row * 4 + (sample / 2 == 0 ? 1 : 3) - y;
      const int64_t u = (dx * cosine + dy * sine) * kUnit / (radius * 4096);
      const int64_t v = (dy * cosine - dx * sine) * kUnit / (radius * 4096);
      result += form.has({v, std::abs(u), std::abs(v), u * u + v * v}) ? 1 : 0;
    }
    return result;
  }
};

/// A lattice of random colours, interpolated bilinearly between its points.
class Ground {
 public:
  /// A lattice with a point every `cell` pixels, and one more at the far edges.
  Ground(int64_t size, int64_t cell, Random& random) : cell_(cell), across_(size / cell + 2) {
    points_.resize(across_ * across_ * 3);
    for (auto& value : points_) value = uint8_t(random.next() >> 56);
  }
  /// The value of a channel at a pixel, 0 to 255.
  int64_t at(int64_t col, int64_t row, int64_t channel) const {
    const int64_t x = col % cell_, y = row % cell_;
    const uint8_t* p = points_.data() + ((row / cell_) * across_ + col / cell_) * 3 + channel;
    const int64_t above = p[0] * (cell_ - x) + p[3] * x;
    const int64_t below = p[across_ * 3] * (cell_ - x) + p[across_ * 3 + 3] * x;
    return (above * (cell_ - y) + below * y) / (cell_ * cell_);
  }

 private:
  int64_t cell_, across_;
  std::vector<uint8_t> points_;
};

/// The file that shows that a folder was made here, and with what arguments.
constexpr const char* kMark = "shapes.json";

/// Writes a file, without a sync of its own: fill() syncs all of them.
Error writeFile(const fs::path& path, ArrayRef<uint8_t> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return files::systemError(path.string(), errno);
  int code = files::writeAll(file, llvm::toStringRef(bytes));
  if (::close(file) != 0 && code == 0) code = errno;
  return code == 0 ? Error::success() : files::systemError(path.string(), code);
}

/// Draws and writes all images of both sets, with labels in turn.
Error drawAll(const fs::path& root, const ShapeOptions& options, const base::Tick& tick) {
  const char* ending = options.png ? "png" : "jpg";
  return base::forEach(
      options.count + options.tests(), options.threads,
      [&](int64_t item) -> Error {
        thread_local std::vector<uint8_t> pixels;
        const bool test = item >= options.count;
        const int64_t number = test ? item - options.count : item, label = number % options.classes;
        pixels.resize(options.size * options.size * 3);
        drawShape(label, options.size, options.seed, test, number, pixels.data());
        auto bytes =
            TRY(options.png ? encodePng(pixels.data(), options.size) : encodeJpeg(pixels.data(), options.size));
        return writeFile(root / (test ? "test" : "train") / shapeClass(label) / fmt::format("{:07}.{}", number, ending),
                         bytes);
      },
      tick);
}

/// Fills a new folder with everything that belongs to a set.
Error fill(const fs::path& root, const ShapeOptions& options, const base::Tick& tick) {
  std::error_code code;
  for (const char* set : {"train", "test"})
    for (int64_t label = 0; label < options.classes && !code; ++label)
      fs::create_directories(root / set / shapeClass(label), code);
  if (code) return files::systemError(root.string(), code.value());
  TRY(drawAll(root, options, tick));
  const std::string mark =
      fmt::format(R"({{"made":"shapes","size":{},"count":{},"classes":{},"format":"{}","seed":{}}})"
                  "\n",
                  options.size, options.count, options.classes, options.png ? "png" : "jpeg", options.seed);
  TRY(writeFile(root / kMark, {reinterpret_cast<const uint8_t*>(mark.data()), mark.size()}));
  // One syncfs for all files is far cheaper than an fsync for each, and the folder is moved to its place only
  // afterwards.
  const Descriptor folder(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder >= 0 && ::syncfs(folder) == 0) return Error::success();
  return files::systemError(root.string(), errno);
}

/// Whether the folder's place can be taken: it is free, empty, or was made by us and is to be replaced.
Error checkPlace(const fs::path& folder, bool replace) {
  std::error_code code;
  const fs::file_status status = fs::status(folder, code);
  if (status.type() == fs::file_type::not_found) return Error::success();
  if (code) return files::systemError(folder.string(), code.value());
  if (status.type() != fs::file_type::directory) return failure("{} exists and is not a folder", folder.string());
  if (fs::is_empty(folder, code) && !code) return Error::success();
  if (code) return files::systemError(folder.string(), code.value());
  const bool ours = fs::exists(folder / kMark, code);
  if (replace && ours) return Error::success();
  if (replace)
    return failure(
        "{} exists and was not made by `expc data make` (no {} in it); choose another name, or delete it yourself",
        folder.string(), kMark);
  return failure("{} exists; choose another name{}", folder.string(), ours ? ", or replace it with --force" : "");
}

}  // namespace

std::string shapeClass(int64_t label) { return std::string(colourOf(label).name) + "_" + formOf(label).name; }

void drawShape(int64_t label, int64_t size, uint64_t seed, bool test, int64_t number, uint8_t* out) {
  // The set and the number are mixed in one after the other, so that each image has a stream of its own and any thread
  // can draw it.
  Random random(seed);
  random = Random(random.next() + (test ? 1 : 0));
  random = Random(random.next() + uint64_t(number));
  const Placed form(label, size, random);
  std::array<int64_t, 3> colour;
  for (size_t c = 0; c < 3; ++c) colour[c] = colourOf(label).colour[c] + random.within(-15, 15);
  // Large patches and fine texture, so that a JPEG is as large as a photograph's.
  const Ground coarse(size, std::max<int64_t>(1, size / 10), random), fine(size, 4, random);
  for (int64_t row = 0; row < size; ++row)
    for (int64_t col = 0; col < size; ++col) {
      const int64_t covered = form.covers(col, row);
      const uint64_t noise = random.next();
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t ground = (coarse.at(col, row, c) * 70 + fine.at(col, row, c) * 25) / 100;
        // The form keeps a little of the ground's fine pattern; two dice make the grain.
        const int64_t own = colour[c] + (fine.at(col, row, c) - 128) / 8;
        const auto grain = int64_t((noise >> (16 * c)) % 11 + (noise >> (16 * c + 8)) % 11) - 10;
        *out++ = uint8_t(std::clamp<int64_t>((own * covered + ground * (4 - covered)) / 4 + grain, 0, 255));
      }
    }
}

Expected<std::vector<uint8_t>> encodeJpeg(const uint8_t* pixels, int64_t size) {
  // One encoder per thread, kept from image to image.
  static thread_local const std::unique_ptr<void, int (*)(void*)> handle(tjInitCompress(), tjDestroy);
  if (!handle) return failure("no memory for a JPEG encoder");
  unsigned char* made = nullptr;
  unsigned long bytes = 0;
  const int side = int(size);
  const int code = tjCompress2(handle.get(), pixels, side, 0, side, TJPF_RGB, &made, &bytes, TJSAMP_420,
                               /*jpegQual=*/85, TJFLAG_ACCURATEDCT);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owned(made, tjFree);
  if (code != 0) return failure("JPEG: {}", tjGetErrorStr2(handle.get()));
  return std::vector<uint8_t>(made, made + bytes);
}

Expected<std::vector<uint8_t>> encodePng(const uint8_t* pixels, int64_t size) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = image.height = static_cast<png_uint_32>(size);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> out(bytes);
  if (png_image_write_to_memory(&image, out.data(), &bytes, 0, pixels, 0, nullptr) == 0)
    return failure("PNG: {}", image.message);
  out.resize(bytes);
  return out;
}

Error makeShapes(const std::string& folder, const ShapeOptions& options, bool replace, const base::Tick& tick) {
  assert(options.size >= kSmallestShape && options.size <= kLargestShape && options.classes >= 2 &&
         options.classes <= kMostShapeClasses && options.count >= options.classes);
  fs::path place = fs::path(folder).lexically_normal();
  if (!place.has_filename()) place = place.parent_path();  // a trailing slash, as in "images/"
  TRY(checkPlace(place, replace));
  // Everything is drawn in a folder beside the place and only then moved; the draft is removed in any case.
  const std::string draft = files::temporaryBeside(place.string());
  const auto removed = llvm::make_scope_exit([&] { files::removeTree(draft); });
  TRY(fill(draft, options, tick));
  // If a set of ours is there, the two folders are exchanged in one step, so that there is always one at this place;
  // what was there becomes the draft and is removed.
  std::error_code none;
  if (!fs::exists(place / kMark, none)) return files::move(draft, place.string());
  if (::renameat2(AT_FDCWD, draft.c_str(), AT_FDCWD, place.c_str(), RENAME_EXCHANGE) == 0) return Error::success();
  return failure("cannot replace {}: {}; choose another name, or delete it yourself", place.string(),
                 llvm::sys::StrError(errno));
}

}  // namespace expc::dataset
