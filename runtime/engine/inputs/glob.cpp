#include "runtime/engine/inputs/glob.h"

#include <fmt/format.h>
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

namespace expc::engine::inputs {
namespace {

namespace fs = std::filesystem;

/// One name of a pattern.
struct Part {
  std::string name;
  std::optional<llvm::GlobPattern> glob;  // absent: `**`
};

constexpr size_t kMostEntries = 5'000'000;

class Walk {
 public:
  Walk(std::vector<Part> parts, fs::path except) : parts_(std::move(parts)), except_(std::move(except)) {}

  llvm::Expected<std::vector<std::string>> from(const fs::path& base) {
    into(base, 0);
    if (!problem_.empty()) return llvm::createStringError(problem_);
    std::ranges::sort(found_);
    found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
    return std::move(found_);
  }

 private:
  /// Everything below `folder` that the parts from `at` on match. Behind the last one stands `**`: a folder that is
  /// named whole stands for all files in it.
  void into(const fs::path& folder, size_t at) {
    // Several `**` come to a folder in many ways.
    if (!seen_.insert({folder.string(), at}).second) return;
    const bool any = at == parts_.size() || !parts_[at].glob, last = at + 1 >= parts_.size();
    if (any && !last) into(folder, at + 1);
    // A name without a pattern may be one that cannot be listed.
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

  std::vector<fs::path> entriesOf(const fs::path& folder) {
    std::error_code failed;
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, failed), end; !failed && it != end && looked_ < kMostEntries;
         it.increment(failed), ++looked_)
      if (!files::isTemporary(it->path().filename().string())) entries.push_back(it->path());
    if (looked_ == kMostEntries)
      problem_ = fmt::format("more than {} names were looked at: say more of where the files are", kMostEntries);
    // A folder of a plain name that is not there has no files; one that cannot be read is a problem.
    if (failed && failed != std::errc::no_such_file_or_directory && failed != std::errc::not_a_directory)
      problem_ = fmt::format("the folder '{}' cannot be read: {}", folder.string(), failed.message());
    return entries;
  }

  const std::vector<Part> parts_;
  const fs::path except_;
  std::set<std::pair<std::string, size_t>> seen_;  // folders, and the parts that were looked for in them
  size_t looked_ = 0;
  std::vector<std::string> found_;
  std::string problem_;
};

}  // namespace

llvm::Expected<std::vector<std::string>> filesMatching(const std::string& root, const std::string& pattern,
                                                       const std::string& except) {
  // A file that is called so is meant, whatever its brackets and backslashes would stand for.
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
  // What is compiled refers to the name that it was made of, which does not move any more.
  for (Part& part : parts) {
    if (part.name == "**") continue;
    auto glob = llvm::GlobPattern::create(part.name);
    if (!glob) return base::failure("the pattern '{}': {}", pattern, llvm::toString(glob.takeError()));
    part.glob = std::move(*glob);
  }
  if (parts.empty()) return base::failure("an empty pattern names no file");
  fs::path closed = fs::path(except).lexically_normal();
  if (!closed.has_filename()) closed = closed.parent_path();  // "results/"
  return Walk(std::move(parts), std::move(closed)).from(base);
}

}  // namespace expc::engine::inputs
