#pragma once

// Files that trials read, looked at again while a run goes on: all that it measures must be of the same files.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/engine/inputs/command_files.h"
#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

/// By which a file is known to be the same without reading it.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t written_ns = 0;  // since 1970; any program can set it back
  int64_t changed_ns = 0;  // anything of it, links to it too; only the system sets it
  bool operator==(const FileStamp&) const = default;
};

/// Nothing where there is no such file.
std::optional<FileStamp> stampOf(const std::string& path);

class FileWatch {
 public:
  FileWatch() = default;
  /// Notes how the programs and inputs of commands are, and the data: before their digests are taken, so that a change
  /// in between is seen. Of a data folder it is the folder alone, not what lies deeper.
  FileWatch(const plan::Plan& plan, const std::vector<CommandFiles>& files);
  /// The same of a file that a preparation left, by its key of the digest.
  void watch(const std::string& prepared, const std::string& path) { watched_[prepared] = {{path, stampOf(path)}}; }

  /// Whether what a trial of `point` reads is still what `digests` say. Contents are read only where a stamp differs.
  /// The error names the file and the way out.
  llvm::Error check(const plan::Plan& plan, const plan::Point& point, const std::vector<CommandFiles>& files,
                    const std::map<std::string, std::string>& digests, const Tick& tick);

  /// Calls what gives files links, or takes such away: of those that were as noted this is no change.
  llvm::Error whileLinking(llvm::function_ref<llvm::Error()> change);

 private:
  using Stamps = std::map<std::string, std::optional<FileStamp>>;
  std::map<std::string, Stamps> watched_;  // by key of the digest
};

}  // namespace expc::engine::inputs
