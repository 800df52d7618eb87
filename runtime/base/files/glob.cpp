// Patterns of file names: a walk over folders that follows the parts of the pattern between slashes. llvm::GlobPattern
// matches single names; `**` is handled here.

#include "runtime/base/files/glob.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/GlobPattern.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/files/files.h"
#include "runtime/base/format.h"

namespace expc::files {
namespace {

namespace fs = std::filesystem;

/// A part of a pattern between slashes.
struct Part {
  std::string name;
  std::optional<llvm::GlobPattern> glob;  // absent: `**`
};

// Names that one walk looks at: a pattern such as `/**` must end in seconds, not hours.
constexpr size_t kMostEntries = 5'000'000;

/// One search. Collects files and the first problem on its way.
class Walk {
 public:
  Walk(std::vector<Part> parts, fs::path except) : parts_(std::move(parts)), except_(std::move(except)) {}

  Expected<std::vector<std::string>> from(const fs::path& base) {
    into(base, 0);
    if (!problem_.empty()) return failure("{}", problem_);
    std::ranges::sort(found_);
    found_.erase(llvm::unique(found_), found_.end());
    return std::move(found_);
  }

 private:
  /// Visits what the parts from `at` on match below `folder`. Behind the last part stands an implicit `**`, so a folder
  /// that is named as a whole stands for all files in it.
  void into(const fs::path& folder, size_t at) {
    // With several `**` there are many ways to a folder; each combination is walked once, which keeps the walk linear.
    if (!seen_.insert({folder.string(), at}).second) return;
    const bool any = at == parts_.size() || !parts_[at].glob, last = at + 1 >= parts_.size();
    if (any && !last) into(folder, at + 1);
    // A name without wildcards is looked up directly, since its folder may be readable by name only (no read
    // permission).
    if (!any && parts_[at].name.find_first_of("*?[\\") == std::string::npos)
      return visit(folder / parts_[at].name, at, last, true);
    for (const fs::path& entry : entriesOf(folder)) {
      const std::string name = entry.filename().string();
      if (name.front() == '.' && (any || parts_[at].name.front() != '.')) continue;
      if (any)
        visit(entry, at, last, false);
      else if (parts_[at].glob->match(name))
        visit(entry, at, last, true);
    }
  }

  /// `matched`: the part at `at` matches this entry's name; otherwise that part is `**`, which goes on below it.
  void visit(const fs::path& entry, size_t at, bool last, bool matched) {
    std::error_code failed;
    if (entry.lexically_normal() == except_) return;
    if (fs::is_directory(entry, failed)) {
      if (matched) return into(entry, at + 1);
      if (!fs::is_symlink(entry, failed)) into(entry, at);
    } else if (last && fs::is_regular_file(entry, failed)) {
      found_.push_back(entry.lexically_normal().string());
    }
  }

  /// The entries of a folder; empty with problem_ set if it cannot be read.
  std::vector<fs::path> entriesOf(const fs::path& folder) {
    std::error_code failed;
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end && looked_ < kMostEntries;
         it.increment(failed), ++looked_)
      if (!isTemporary(it->path().filename().string())) entries.push_back(it->path());
    if (looked_ == kMostEntries)
      problem_ = fmt::format("more than {} names to search: write more of the folder's path", kMostEntries);
    // A plain name that does not exist, or is a file, matches nothing. A folder that cannot be read is a problem, since
    // files might be missing unnoticed.
    if (failed && failed != std::errc::no_such_file_or_directory && failed != std::errc::not_a_directory)
      problem_ = fmt::format("the folder '{}' cannot be read: {}", folder.string(), failed.message());
    return entries;
  }

  const std::vector<Part> parts_;
  const fs::path except_;
  std::set<std::pair<std::string, size_t>> seen_;  // (folder, part) that were visited
  size_t looked_ = 0;
  std::vector<std::string> found_;
  std::string problem_;
};

}  // namespace

Expected<std::vector<std::string>> filesMatching(const std::string& root, const std::string& pattern,
                                                 const std::string& except) {
  // A file that has exactly this name is meant, whatever its brackets or backslashes would stand for.
  const fs::path literal = (fs::path(root) / pattern).lexically_normal();
  std::error_code none;
  if (pattern.find_first_of("[\\") != std::string::npos && fs::is_regular_file(literal, none))
    return std::vector<std::string>{literal.string()};
  std::vector<Part> parts;
  fs::path base = root;
  for (const fs::path& element : fs::path(pattern).lexically_normal()) {
    const std::string name = element.string();
    if (name == "/") base = "/";
    if (name.empty() || name == "." || name == "/") continue;
    parts.push_back({name, std::nullopt});
  }
  // A GlobPattern refers to the text that it was made of, so compile only once no part moves any more.
  for (Part& part : parts) {
    if (part.name == "**") continue;
    auto glob = llvm::GlobPattern::create(part.name);
    if (!glob) return failure("the pattern '{}': {}", pattern, glob.takeError());
    part.glob = std::move(*glob);
  }
  if (parts.empty()) return failure("an empty pattern names no file");
  fs::path closed = fs::path(except).lexically_normal();
  if (!closed.has_filename()) closed = closed.parent_path();  // "results/"
  return Walk(std::move(parts), std::move(closed)).from(base);
}

}  // namespace expc::files
