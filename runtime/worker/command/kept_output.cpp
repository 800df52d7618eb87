// The file format of kept output: a line "expc-output 1 zstd SIZE" (or "plain SIZE"), then a JSON
// document of SIZE bytes, compressed or not, with the files in base64. SIZE lets a reader refuse a
// file before it decompresses it.

#include "runtime/worker/command/kept_output.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/Base64.h>
#include <llvm/Support/Compression.h>
#include <llvm/Support/MemoryBuffer.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/base/descriptor.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/files/glob.h"
#include "runtime/base/format.h"
#include "runtime/base/json.h"
#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/worker/command/metrics.h"

namespace expc::command {
namespace {

namespace fs = std::filesystem;

constexpr char kMark[] = "expc-output 1 ";
constexpr uint64_t kMostDocument = 2 * kMostKept;  // base64 takes a third more

Error failed(const std::string& path, const std::string& why) { return failure("'{}': {}", path, why); }

/// The document: the kept output, and the files by name.
struct Document {
  KeptOutput output;
  json::Object files;
};
constexpr auto kDocument = [](JsonRecord& io, Document& document) {
  ProgramEnd& end = document.output.end;
  io.required("wall", end.wall_seconds, "cpu_time", end.cpu_seconds, "peak", end.peak_bytes, "left_out",
              document.output.left_out, "files", document.files);
};

/// Whether a name is a path inside the folder; a stranger's file may contain anything.
bool staysInside(const std::string& name) {
  const fs::path path = fs::path(name).lexically_normal();
  return !path.empty() && path.is_relative() && *path.begin() != ".." && path.filename() != "" && path != ".";
}

/// Writes a file anew; removes it after an error.
Error writeAll(const std::string& path, StringRef head, StringRef body) {
  const Descriptor file(files::openLog(path));
  if (file < 0) return failed(path, std::strerror(errno));
  int error = files::writeAll(file, head);
  if (error == 0) error = files::writeAll(file, body);
  if (error == 0) return Error::success();
  unlink(path.c_str());  // half a file is of no use
  return failed(path, std::strerror(error));
}

/// The document of a file, with its size checked before memory is taken for it.
Expected<std::string> readDocument(const std::string& path) {
  auto file = TRY(readFile(path, kMostDocument));
  auto [head, body] = file->getBuffer().split('\n');
  uint64_t size = 0;
  const bool marked = head.consume_front(kMark);
  const auto [how, number] = head.split(' ');
  if (!marked || number.getAsInteger(10, size) || size > kMostDocument)
    return failed(path, "this is not a stored output");
  if (how == "plain") return body.str();
  llvm::SmallVector<uint8_t, 0> document;
  if (how != "zstd" || !llvm::compression::zstd::isAvailable())
    return failed(path, "it is compressed in an unknown way");
  const ArrayRef<uint8_t> packed(reinterpret_cast<const uint8_t*>(body.data()), body.size());
  if (auto error = llvm::compression::zstd::decompress(packed, document, size))
    return failed(path, toString(std::move(error)));
  return std::string(document.begin(), document.end());
}

/// `files`, with those of the folder that match in place of a name with `*`.
std::vector<std::string> namedIn(const std::string& folder, const std::vector<std::string>& files) {
  std::vector<std::string> names;
  for (const std::string& name : files) {
    if (name.find('*') == std::string::npos || !staysInside(name)) {
      names.push_back(name);
      continue;
    }
    const auto found = expectedToOptional(files::filesMatching(folder, name, ""));
    for (const std::string& file : found.value_or(std::vector<std::string>()))
      if (const std::string inside = fs::path(file).lexically_relative(fs::path(folder).lexically_normal()).string();
          !is_contained(names, inside))
        names.push_back(inside);
  }
  return names;
}

}  // namespace

std::vector<std::string> filesRead(const plan::Command& command) {
  std::vector<std::string> files{kOutput, kErrors};
  const auto add = [&](const std::string& file) {
    if (!file.empty() && !is_contained(files, file)) files.push_back(file);
  };
  for (const auto* read : {&command.metrics, &command.inside})
    for (const plan::CommandMetric& metric : *read) add(metric.file);
  for (const plan::Expectation& expectation : command.expectations) add(expectation.read.file);
  return files;
}

Error keepOutput(const std::string& path, const std::string& folder, const std::vector<std::string>& files,
                 const ProgramEnd& end) {
  Document kept{{end, {}}, {}};
  uint64_t room = kMostKept;
  bool anything = false;
  for (const std::string& name : namedIn(folder, files)) {
    const std::string file = trialFile(name, folder);
    // Only regular files are kept; stat() follows a symbolic link to one.
    struct stat state{};
    if (!staysInside(name) || stat(file.c_str(), &state) != 0 || !S_ISREG(state.st_mode)) continue;
    const auto size = uint64_t(state.st_size);
    if (size > 0) anything = true;
    if (size > room) {
      // Files are kept in order while they fit; a later, smaller one may still fit.
      kept.output.left_out.push_back(name);
      continue;
    }
    std::string coded;
    if (size > 0) {
      auto text = TRY(readFile(file, kMostKept));
      room -= size;
      coded = llvm::encodeBase64(text->getBuffer());
    }
    kept.files[jsonText(name).getAsString()->str()] = std::move(coded);
  }
  if (!anything) return Error::success();
  const std::string document = canonicalJson(JsonRecord::written(kept, kDocument));
  /// Opening the file reports what is wrong.
  std::error_code ignored;
  // Only this one folder is made: if the results folder is gone, it must stay gone.
  fs::create_directory(fs::path(path).parent_path(), ignored);
  if (!llvm::compression::zstd::isAvailable())
    return writeAll(path, fmt::format("{}plain {}\n", kMark, document.size()), document);
  llvm::SmallVector<uint8_t, 0> packed;
  // The fastest level, because the engine waits for the trial's end.
  llvm::compression::zstd::compress(ArrayRef(reinterpret_cast<const uint8_t*>(document.data()), document.size()),
                                    packed, /*Level=*/1);
  return writeAll(path, fmt::format("{}zstd {}\n", kMark, document.size()),
                  StringRef(reinterpret_cast<const char*>(packed.data()), packed.size()));
}

Expected<KeptOutput> unpackOutput(const std::string& path, const std::string& folder) {
  auto document = TRY(readDocument(path));
  const std::string quoted = fmt::format("'{}'", path);
  auto value = TRY(prefixed(quoted, parseJson(document)));
  auto kept = TRY(prefixed(quoted, base::readRecord<Document>(value, "the kept output", kDocument)));
  for (const auto& [name, packed] : kept.files) {
    std::vector<char> text;
    // The names come from a file that may be a stranger's; none may lead outside the folder.
    const auto coded = packed.getAsString();
    if (!coded || !staysInside(name.str())) return failed(path, "this is not a stored output");
    TRY(prefixed(quoted, llvm::decodeBase64(*coded, text)));
    const fs::path file = trialFile(name.str(), folder);
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    TRY(writeAll(file.string(), "", StringRef(text.data(), text.size())));
  }
  return std::move(kept.output);
}

}  // namespace expc::command
