#pragma once

// Watches the files that trials read. All that a run measures must be of the same files, but digesting them before each
// trial would take too long. So their stamps (size, times, inode) are compared, and contents are read again only where
// a stamp differs.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/engine/inputs/command_files.h"
#include "runtime/plan/plan.h"

namespace expc::engine::inputs {

/// The metadata by which a file is taken for unchanged without reading it.
struct FileStamp {
  uint64_t device = 0, inode = 0, size = 0;
  int64_t written_ns = 0;  // mtime since 1970; any program can set it back
  int64_t changed_ns = 0;  // ctime: also changes with links and permissions; only the kernel sets it
  bool operator==(const FileStamp&) const = default;
};

/// The stamp of a file, following links; nothing if there is none.
std::optional<FileStamp> stampOf(const std::string& path);

/// The stamps of the files of a run, grouped by the key under which their digest is kept.
class FileWatch {
 public:
  FileWatch() = default;
  /// Notes the stamps of the programs and inputs of commands and of the data. Construct it before the digests are
  /// taken, so that a change in between is seen. For a data folder only the folder itself is stamped, not what lies
  /// deeper.
  FileWatch(const Plan& plan, const std::vector<CommandFiles>& files);
  /// Notes the stamp of a file that a preparation made; `prepared` is its key among the digests.
  void watch(const std::string& prepared, const std::string& path) { watched_[prepared] = {{path, stampOf(path)}}; }

  /// Checks that the files that a trial of `point` reads are still those of `digests`. Where only stamps differ (a
  /// touch, a copy with the same content), the new stamps are noted. The error names the file and the way out.
  Error check(const Plan& plan, const Point& point, const std::vector<CommandFiles>& files,
              const std::map<std::string, std::string>& digests, const Tick& tick);

  /// Runs `change`, which makes or removes links to watched files. That changes their ctime, so the new ones are noted,
  /// but only for files that were unchanged before: another change is not hidden by it.
  Error whileLinking(function_ref<Error()> change);

 private:
  using Stamps = std::map<std::string, std::optional<FileStamp>>;
  std::map<std::string, Stamps> watched_;  // key among the digests -> path -> stamp
  bool links_ = false;                     // trials get hard links to some of them
};

}  // namespace expc::engine::inputs
