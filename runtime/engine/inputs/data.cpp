// Data of trials: existence, digests and scratch copies. Everything that can take minutes works in pieces and calls the
// tick in between.

#include "runtime/engine/inputs/data.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/ScopeExit.h>
#include <llvm/ADT/StringExtras.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/store/match.h"

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;
using json::Array;
using json::Object;
using json::Value;

Error unreadable(const fs::path& path, const std::string& why) {
  return failure("data '{}' cannot be read: {}", path.string(), why);
}

Error cannotCopy(const ScratchCopy& copy, const std::string& why) {
  return failure("cannot copy '{}' to '{}': {}; choose another folder with --scratch DIR, or `scratch` in a site file",
                 copy.from, copy.to, why);
}

/// Makes a folder that only this user can enter, whatever the permissions of `scratch`: its files decide what is
/// measured, so nobody else may change them.
std::error_code makeOwnFolder(const fs::path& folder) {
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (!failed) fs::permissions(folder, fs::perms::owner_all, failed);
  return failed;
}

/// Copies one file in pieces, calling `tick` after each, with its permissions.
Error copyFile(const ScratchCopy& copy, const fs::path& from, const fs::path& to, const Tick& tick) {
  bool stopped = false;
  const int out = files::openLog(to.string());
  int code = out < 0 ? errno : 0;
  Error error = code ? Error::success() : files::readPieces(from.string(), [&](StringRef piece) {
    code = files::writeAll(out, piece);
    if (code) return files::systemError(to.string(), code);
    Error end = tick();
    stopped = bool(end);
    return end;
  });
  if (out >= 0 && ::close(out) != 0 && code == 0) code = errno;
  // The error of the tick is passed on as it is: it is no failure of the copy.
  if (stopped) return error;
  if (error) return cannotCopy(copy, toString(std::move(error)));
  if (code) return cannotCopy(copy, std::strerror(code));
  std::error_code ignored;
  fs::permissions(to, fs::status(from, ignored).permissions(), ignored);
  return Error::success();
}

/// Copies a file, or all files below a folder. As in a digest, links are replaced by what they lead to.
Error copyAll(const ScratchCopy& copy, const fs::path& to, const Tick& tick) {
  return files::eachFile(copy.from, [&](const std::string& path) -> Error {
    std::error_code failed;
    const fs::path target = path == copy.from ? to : to / fs::path(path).lexically_relative(copy.from);
    fs::create_directories(target.parent_path(), failed);
    return failed ? cannotCopy(copy, failed.message()) : copyFile(copy, path, target, tick);
  });
}

}  // namespace

Error checkDataExists(const Plan& plan, const std::string& path) {
  const fs::path full = fs::path(plan.root) / path;
  std::error_code error;
  if (fs::exists(full, error)) return Error::success();
  return failure("data '{}' is missing (looked for {}). Put it there, or set another path in the study or with -D",
                 path, full.string());
}

bool isMadeUp(const Plan& plan, const std::string& path) {
  const fs::path full = fs::path(plan.root) / path;
  std::error_code error;
  return fs::exists((fs::is_directory(full, error) ? full : full.parent_path()) / "MADE_UP", error);
}

Error checkDataExists(const Plan& plan) {
  for (const std::string& path : plan.data_paths) TRY(checkDataExists(plan, path));
  return Error::success();
}

Error addToDigest(llvm::BLAKE3& hasher, const std::string& name, const std::string& path, const Tick& tick,
                  llvm::BLAKE3* alone) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) return unreadable(path, error.message());
  // Name and size in front of each content make the concatenation unambiguous.
  hasher.update(fmt::format("{}\n{}\n", name, size));
  if (alone) alone->update(fmt::format("\n{}\n", size));
  return files::readPieces(path, [&](StringRef piece) {
    hasher.update(piece);
    if (alone) alone->update(piece);
    return tick();
  });
}

Expected<std::string> digestPath(const std::string& path, const Tick& tick) {
  std::vector<fs::path> found;  // all files below the path, or the path itself
  auto error = files::eachFile(path, [&](const std::string& file) {
    found.emplace_back(file);
    return Error::success();
  });
  if (error) return unreadable(path, toString(std::move(error)));
  std::ranges::sort(found);
  llvm::BLAKE3 hasher;
  for (const fs::path& file : found) {
    std::error_code ignored;
    // The name within the folder, so that equal data elsewhere has the same digest.
    const std::string name = file == path ? "" : fs::relative(file, path, ignored).string();
    TRY(addToDigest(hasher, name, file.string(), tick));
  }
  return llvm::toHex(hasher.final<16>(), /*LowerCase=*/true);
}

Expected<std::map<std::string, std::string>> digestData(const Plan& plan, const Tick& tick) {
  std::map<std::string, std::string> digests;
  for (const std::string& path : plan.data_paths)
    digests[path] = TRY(digestPath((fs::path(plan.root) / path).string(), tick));
  return digests;
}

std::map<std::string, ScratchCopy> scratchCopies(const Plan& plan, const std::map<std::string, std::string>& digests,
                                                 const std::string& scratch) {
  std::map<std::string, ScratchCopy> copies;
  for (const std::string& path : plan.data_paths) {
    const fs::path from = (fs::path(plan.root) / path).lexically_normal();
    std::error_code none;
    // An executable file is taken for a program.
    if (!fs::is_directory(from, none) && access(from.c_str(), X_OK) == 0) continue;
    const std::string& digest = digests.at(path);
    // The file's name stays, since some programs derive the format from it.
    const std::string name = from.has_filename() ? from.filename().string() : "data";
    // The user's number keeps users apart on a shared scratch disk, the digest the versions of data.
    const fs::path to = fs::path(scratch) / fmt::format("expc-data-{}", getuid()) / digest / name;
    copies[path] = {from.string(), to.string(), digest};
  }
  return copies;
}

Object absoluteParameters(const Plan& plan, Object parameters) {
  for (auto& parameter : parameters)
    store::replaceTexts(parameter.second, [&](const std::string& path) {
      const bool data = is_contained(plan.data_paths, path);
      return data ? (std::filesystem::path(plan.root) / path).lexically_normal().string() : "";
    });
  return parameters;
}

Object withCopies(Object parameters, const std::map<std::string, ScratchCopy>& copies) {
  for (auto& parameter : parameters)
    store::replaceTexts(parameter.second, [&](const std::string& path) {
      const ScratchCopy* copy = entryOf(copies, path);
      return copy ? copy->to : "";
    });
  return parameters;
}

Error makeCopy(const ScratchCopy& copy, const Tick& tick) {
  const fs::path to(copy.to), folder = to.parent_path(), part = files::temporaryBeside(folder.string());
  // Whether a valid copy is at `where`: it exists and has the digest.
  const auto holds = [&](const fs::path& where) -> Expected<bool> {
    std::error_code none;
    if (!fs::exists(where, none)) return false;
    auto digest = digestPath(where.string(), tick);
    return digest ? Expected<bool>(*digest == copy.digest) : digest.takeError();
  };
  // A copy of an earlier run is digested again: that costs one reading, finds damage, and fills the page cache.
  auto there = TRY(holds(to));
  if (there) return Error::success();
  std::error_code failed = makeOwnFolder(folder.parent_path());
  if (failed) return cannotCopy(copy, failed.message());
  // The copy is made beside its place and renamed when it is complete, so no other process ever sees a part of it.
  const auto removed = llvm::make_scope_exit([&] { files::removeTree(part.string()); });
  fs::create_directory(part, failed);
  if (failed) return cannotCopy(copy, failed.message());
  TRY(copyAll(copy, part / to.filename(), tick));
  auto whole = TRY(holds(part / to.filename()));
  if (!whole) return cannotCopy(copy, "it has changed since its digest was taken");
  fs::rename(part, folder, failed);
  if (!failed) return Error::success();
  // The rename failed because the folder exists: another process was first, or a damaged copy is there and must go.
  auto others = TRY(holds(to));
  if (others) return Error::success();
  if (const std::string stays = files::removeTree(folder.string()); !stays.empty()) return cannotCopy(copy, stays);
  fs::rename(part, folder, failed);
  return failed ? cannotCopy(copy, failed.message()) : Error::success();
}

}  // namespace expc::engine::inputs
