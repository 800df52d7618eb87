// `expc data`: its subcommands, their checks of arguments and what they print. Drawing, packing, inspecting and
// verifying data sets is done in runtime/data/dataset, with all cores and a callback for progress. `expc data prepare`
// has a file of its own (prepare_command.cpp).

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/JSON.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "cli/commands.h"
#include "cli/data_sets.h"
#include "cli/subcommand.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/llvm.h"
#include "runtime/base/parallel.h"
#include "runtime/base/printable.h"
#include "runtime/data/dataset/inspect.h"
#include "runtime/data/dataset/pack.h"
#include "runtime/data/dataset/shapes.h"
#include "runtime/data/images/decode.h"
#include "runtime/engine/inputs/data.h"

namespace expc::cli {

using json::Object;

namespace {

/// `expc data make`. The fields of the base class that texts do not map to directly (size) are filled after checking.
struct MakeOptions : dataset::ShapeOptions {
  std::string kind = "shapes";
  /// Height and width of an image, as a text.
  std::string side = "300px";
  std::string to;
  bool force = false;
};

/// `expc data pack`
struct PackOptions : dataset::PackOptions {
  std::string source, to;
  /// Height and width to scale images to; "": as they are, all of one size.
  std::string side;
  bool force = false;
};

/// `expc data info` and `verify`
struct DataOptions {
  std::string path;
  Format format = Format::Text;
};

using data::Source;

/// Reads "300px" or "300"; nothing if it is no number or outside of the range.
std::optional<int64_t> pixels(const std::string& text, int64_t low, int64_t high) {
  StringRef number = StringRef(text).trim();
  number.consume_back("px");
  int64_t value = 0;
  if (!llvm::to_integer(number.rtrim(), value, 10) || value < low || value > high) return std::nullopt;
  return value;
}

/// Returns width and height, "640 x 480".
std::string sizeOf(const data::Shape& shape) { return fmt::format("{} x {}", shape.cols, shape.rows); }

/// Returns a size in binary units, "1.5 GiB".
std::string bytesText(uint64_t bytes) {
  const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = double(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

/// Fails if the arguments of `make` have a mistake.
Error verify(const MakeOptions& options) {
  if (!pixels(options.side, dataset::kSmallestShape, dataset::kLargestShape))
    return usage("--size {}: expected {}px to {}px", options.side, dataset::kSmallestShape, dataset::kLargestShape);
  if (options.classes < 2 || options.classes > dataset::kMostShapeClasses)
    return usage("--classes {}: expected 2 to {}", options.classes, dataset::kMostShapeClasses);
  // Every class must have at least one image, or its folder would be missing.
  if (options.count < options.classes || options.count > 9'999'999)
    return usage("--count {}: expected at least one image for each of the {} classes, and at most 9999999",
                 options.count, options.classes);
  return Error::success();
}

/// Returns what `data info` prints. `digest` is the one that a run of a study would record for the data.
std::string infoText(const std::string& path, const dataset::Info& info, const std::string& digest) {
  std::string text = fmt::format("{}: {}\n", path, dataset::toString(info.kind)) + imagesSummary(path, info);
  if (info.checksum) text += fmt::format("  checksum  {:016x}\n", *info.checksum);
  text += fmt::format("  digest    {}\n  classes   {}\n", digest, info.classes.size());
  return text + classLines(info);
}

/// Returns the shape of an image as JSON.
Object shapeJson(const data::Shape& shape) {
  return Object{{"rows", shape.rows}, {"cols", shape.cols}, {"channels", shape.channels}};
}

/// Returns the same as a document "expc.data/1". Names of classes come from folders and may not be UTF-8.
Object infoJson(const std::string& path, const dataset::Info& info, const std::string& digest) {
  json::Array classes;
  for (const auto& entry : info.classes)
    classes.push_back(Object{{"name", jsonText(entry.name)}, {"train", entry.train}, {"test", entry.test}});
  Object out{{"schema", "expc.data/1"},
             {"path", jsonText(path)},
             {"kind", dataset::toString(info.kind)},
             {"train", info.train},
             {"test", info.test},
             {"smallest", shapeJson(info.smallest)},
             {"largest", shapeJson(info.largest)},
             {"digest", digest},
             {"classes", std::move(classes)}};
  if (info.kind == Source::Kind::Folder)
    out["files"] = Object{{"jpeg", info.jpeg}, {"png", info.png}, {"unreadable", info.unreadable}};
  if (info.checksum) out["checksum"] = fmt::format("{:016x}", *info.checksum);
  return out;
}

std::string objectText(Object object) { return base::prettyJson(json::Value(std::move(object))) + "\n"; }

/// Fails if no packed file may be written to the target. Even `--force` only replaces a file that begins with the mark
/// of packed files: a slip of the fingers must not cost somebody's data.
Error canWrite(const PackOptions& options) {
  std::error_code code;
  const auto type = std::filesystem::symlink_status(options.to, code).type();
  if (type == std::filesystem::file_type::not_found) return Error::success();
  if (type != std::filesystem::file_type::regular)
    return failure("{} exists and is not a file; choose another name", options.to);
  if (!options.force) return failure("{} exists; choose another name, or replace it with --force", options.to);
  auto there = TRY(files::map(options.to));
  if (there->getBuffer().starts_with({data::kPackedMagic, sizeof data::kPackedMagic})) return Error::success();
  return failure("{} exists and was not made by `expc data pack`; choose another name, or delete it yourself",
                 options.to);
}

/// `expc data make`. Prints how a study names the result and how to pack it.
Exit makeData(const MakeOptions& options, const Console& console) {
  TRY(verify(options));
  // Equal arguments draw equal images, whatever the number of threads.
  dataset::ShapeOptions shapes = options;
  shapes.size = *pixels(options.side, dataset::kSmallestShape, dataset::kLargestShape);
  shapes.threads = base::allCores();
  Work work("drawing");
  return work.run([&]() -> Exit {
    TRY(dataset::makeShapes(options.to, shapes, options.force, work.tick()));
    return console.finish(
        fmt::format("drew {} training and {} test images of {} x {} in {} classes: {}\n"
                    "  in a study: data = folder(\"{}\")\n"
                    "  expc data pack {} --to {}.pack\n",
                    shapes.count, shapes.tests(), shapes.size, shapes.size, shapes.classes, options.to, options.to,
                    options.to, StringRef(options.to).rtrim('/').str()));
  });
}

/// `expc data pack`. The target is checked before any image is decoded, which may take minutes.
Exit packData(const PackOptions& options, const Console& console) {
  dataset::PackOptions how = options;
  if (!options.side.empty()) {
    const auto size = pixels(options.side, 1, data::kLargestSide);
    if (!size) return usage("--size {}: expected 1px to {}px", options.side, data::kLargestSide);
    how.size = *size;
  }
  how.threads = base::allCores();
  TRY(canWrite(options));
  Work work("packing");
  return work.run([&]() -> Exit {
    auto place = TRY(dataset::recognise(options.source));
    auto sets = TRY(data::open(place));
    auto packed = TRY(dataset::pack(sets, options.to, how, work.tick()));
    for (const std::string& why : packed.left_out) console.message("skipped: " + why);
    const data::PackedHeader& header = packed.header;
    return console.finish(fmt::format(
        "packed {} training and {} test images of {} x {} x {} into {} ({}, checksum {:016x}{})\n"
        "  in a study: data = packed(\"{}\")\n",
        header.train, header.test, header.cols, header.rows, header.channels, options.to, bytesText(header.file_bytes),
        header.header_sum, packed.left_out.empty() ? "" : fmt::format("; {} images skipped", packed.left_out.size()),
        options.to));
  });
}

/// `expc data info`
Exit dataInfo(const DataOptions& options, const Console& console) {
  Work work("looking at");
  return work.run([&]() -> Exit {
    auto place = TRY(dataset::recognise(options.path));
    auto info = TRY(dataset::inspect(place, base::allCores(), work.tick()));
    // The digest reads every file once more, so the count stands at its end while the interrupt still works.
    const int64_t images = info.train + info.test;
    auto digest = TRY(engine::inputs::digestPath(options.path, [&] { return work.step(images, images); }));
    return console.finish(options.format == Format::Json ? objectText(infoJson(options.path, info, digest))
                                                         : infoText(options.path, info, digest));
  });
}

/// `expc data verify`. Damaged images, not test images that were also trained on, decide the exit code: these may be
/// meant.
Exit verifyData(const DataOptions& options, const Console& console) {
  Work work("verifying");
  return work.run([&]() -> Exit {
    auto place = TRY(dataset::recognise(options.path));
    auto verified = TRY(dataset::verify(place, base::allCores(), work.tick()));
    // Damaged images are a result, not an error of this command, so they go to standard output.
    const int code = verified.damaged.empty() ? kSuccess : kError;
    if (options.format == Format::Json) {
      json::Array damaged;
      for (const std::string& why : verified.damaged) damaged.push_back(jsonText(why));
      return console.finish(objectText(Object{{"schema", "expc.data.verify/1"},
                                              {"path", jsonText(options.path)},
                                              {"images", verified.images},
                                              {"test", verified.test},
                                              {"also_trained", verified.also_trained},
                                              {"damaged", std::move(damaged)}}),
                            code);
    }
    std::string text;
    for (const std::string& why : verified.damaged) text += base::printable(why) + "\n";
    text += code == kSuccess ? fmt::format("{}: all {} images decode without errors\n", options.path, verified.images)
                             : fmt::format("{}: {} of {} images cannot be decoded\n", options.path,
                                           verified.damaged.size(), verified.images);
    if (verified.also_trained > 0)
      text +=
          fmt::format("{}: {} of {} test images are also training images, so accuracy there measures memorisation\n",
                      options.path, verified.also_trained, verified.test);
    return console.finish(text, code);
  });
}

// ---- the command line

void addMake(const Commands& to) {
  auto [command, options] =
      to.add("make", "Draw a labelled set of colour images; equal arguments give equal images", makeData);
  addOption(command, "kind", "KIND", options.kind, "What to draw: shapes")
      ->required()
      ->check(CLI::IsMember({"shapes"}));
  addOption(command, "--to", "DIR", options.to, "Folder to write, with train/CLASS and test/CLASS")->required();
  addOption(command, "--count", "N", options.count, "Number of training images; a fifth as many test images are added")
      ->required();
  addOption(command, "--size", "PIXELS", options.side, "Height and width of an image, 16px to 1024px")
      ->capture_default_str();
  addOption(command, "--classes", "K", options.classes, "Number of classes, 2 to 64")->capture_default_str();
  addChoice<bool>(command, "--format", "FORMAT", options.png, {{"jpeg", false}, {"png", true}},
                  "Format of the files (default jpeg)");
  addOption(command, "--seed", "N", options.seed, "Seed of the images")->capture_default_str();
  command.add_flag("--force", options.force, "Replace an existing folder that this command made");
}

void addPack(const Commands& to) {
  auto [command, options] = to.add("pack", "Decode images into one file that loaders map into memory", packData);
  addOption(command, "source", "SOURCE", options.source,
            "A folder with train/CLASS and test/CLASS, a folder of IDX files, or a packed file")
      ->required();
  addOption(command, "--to", "FILE", options.to, "File to write")->required();
  addOption(command, "--size", "PIXELS", options.side,
            "Scale to this height and width, as PIL does (default: unscaled; then all images must have one size)");
  command.add_flag("--skip-corrupt", options.skip_corrupt, "Skip images that cannot be decoded, and list them");
  command.add_flag("--force", options.force, "Replace an existing packed file");
}

void addPrepare(const Commands& to) {
  auto [command, options] =
      to.add("prepare", "Convert downloads to the data folders that the studies name", prepareData,
             "Exit codes: 0 all data is there, 1 error, or data is missing, 2 usage.");
  addOption(command, "what", "WHAT", options.what, "What to prepare: reference (the data of the reference study)")
      ->required()
      ->check(CLI::IsMember({"reference"}));
  addOption(command, "--from", "DIR", options.from,
            "Folder with the downloads: MNIST, alpaca_cleaned, samsum, C4-200M, Llama 3")
      ->capture_default_str();
  addOption(command, "--to", "DIR", options.to, "Folder to fill, next to the studies")->capture_default_str();
}

/// Adds a command that reads a data set and changes nothing.
void addLook(const Commands& to, const char* name, const char* help, Exit (*run)(const DataOptions&, const Console&),
             const char* footer = nullptr) {
  auto [command, options] = to.add(name, help, run, footer);
  addOption(command, "path", "PATH", options.path,
            "A packed file, a folder with train/CLASS and test/CLASS, or a folder of IDX files")
      ->required();
  addFormat(command, options.format);
}

void addInspect(const Commands& to) {
  auto [command, options] =
      to.add("inspect", "Describe the rows or images of a set or a study, and list their problems", inspectData,
             "Exit codes: 0 no error among the problems, 1 error, 2 usage, 130 interrupted.");
  addStudyOptions(command, options.study,
                  "A study (.exp), a file of rows (.json, .jsonl, .csv), or a set of images as for `data info`");
  addOption(command, "--template", "TEMPLATE", options.shape, "How rows are read (default: told by their columns)")
      ->check(CLI::IsMember({"instruct", "grammar", "summarize", "plain", "chat"}));
  addOption(command, "--tokenizer", "PATH", options.tokenizer,
            "A tokenizer's file or a model's folder (default: each byte is a token)");
  addOption(command, "--max-length", "N", options.max_length, "Tokens to which rows are cut (default: not cut)")
      ->check(CLI::Range(16, 131072));
  addOption(command, "--validation", "FILE", options.validation, "Held-out rows to compare with");
  command.add_flag("--pairs", options.pairs, "Rows have two answers, for dpo (default: told by their columns)");
  addFormat(command, options.format);
}

}  // namespace

std::string imagesSummary(const std::string& path, const dataset::Info& info) {
  std::string text = fmt::format("  images    {} training, {} test\n", info.train, info.test);
  // Sets of one size are the usual case and have a shorter line.
  const bool same = info.smallest.rows == info.largest.rows && info.smallest.cols == info.largest.cols;
  const char* channels = info.smallest.channels == 1 ? "grey" : "colour";
  text += same ? fmt::format("  size      {}, {}\n", sizeOf(info.smallest), channels)
               : fmt::format("  size      {} to {}, {}\n", sizeOf(info.smallest), sizeOf(info.largest), channels);
  if (info.kind == Source::Kind::Folder) text += fmt::format("  files     {} JPEG, {} PNG\n", info.jpeg, info.png);
  if (info.unreadable > 0)
    text += fmt::format("  unread    {} files at least: see `expc data verify {}`\n", info.unreadable, path);
  return text;
}

std::string classLines(const dataset::Info& info) {
  // ImageNet has 1000 classes; the first few show how the others look.
  constexpr size_t kShown = 20;
  std::string text;
  size_t width = 0;
  for (size_t i = 0; i < std::min(kShown, info.classes.size()); ++i)
    width = std::max(width, info.classes[i].name.size());
  for (size_t i = 0; i < std::min(kShown, info.classes.size()); ++i)
    text += fmt::format("  {:3} {:{}}  {:7} training  {:7} test\n", i, base::printable(info.classes[i].name), width,
                        info.classes[i].train, info.classes[i].test);
  if (info.classes.size() > kShown) text += fmt::format("  … and {} more\n", info.classes.size() - kShown);
  return text;
}

void addDataTools(const Commands& all) {
  CLI::App& data = *all.parent.add_subcommand("data", "Create, pack, inspect and verify data sets");
  data.require_subcommand(1);
  data.footer("Exit codes: 0 success, 1 error, 2 usage, 130 interrupted.");
  const Commands to{data, all.asked};
  addMake(to);
  addPrepare(to);
  addPack(to);
  addInspect(to);
  addLook(to, "info", "Describe a data set: format, images, classes, sizes, digest", dataInfo);
  addLook(to, "verify", "Check every image of a data set; list those that cannot be decoded", verifyData,
          "Exit codes: 0 no damage, 1 error, or damaged images, 2 usage, 130 interrupted.");
}

}  // namespace expc::cli
