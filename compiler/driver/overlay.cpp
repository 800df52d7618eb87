#include "compiler/driver/overlay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>

namespace expc::driver {

namespace {

llvm::Error failure(const std::string& path, const char* what) {
  return llvm::createStringError(fmt::format("cannot {} {}: {}", what, path, std::generic_category().message(errno)));
}

/// A new file beside its target, removed again unless it was renamed.
class Replacement {
 public:
  explicit Replacement(std::string target) : target_(std::move(target)) {}
  Replacement(Replacement&& other) noexcept
      : target_(std::move(other.target_)), temporary_(std::exchange(other.temporary_, {})) {}
  ~Replacement() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }

  llvm::Error prepare(const std::string& text) {
    struct stat status{};
    // A folder may let us replace a file that its owner made read-only; that is not what they meant.
    if (stat(target_.c_str(), &status) != 0 || access(target_.c_str(), W_OK) != 0) return failure(target_, "write");
    std::string name = target_ + ".XXXXXX";
    const int file = mkstemp(name.data());
    if (file < 0) return failure(target_, "write beside");
    temporary_ = name;
    size_t done = 0;
    while (done < text.size()) {
      const ssize_t count = ::write(file, text.data() + done, text.size() - done);
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) break;
      done += static_cast<size_t>(count);
    }
    const bool good = done == text.size() && fchmod(file, status.st_mode & 07777) == 0 && fsync(file) == 0;
    llvm::Error error = good ? llvm::Error::success() : failure(target_, "write");
    close(file);
    return error;
  }

  llvm::Error commit() {
    if (rename(temporary_.c_str(), target_.c_str()) != 0) return failure(target_, "replace");
    temporary_.clear();
    return llvm::Error::success();
  }

 private:
  std::string target_, temporary_;
};

}  // namespace

check::FileSystem Overlay::files() {
  return {[this](const std::string& path) -> llvm::Expected<std::string> {
    if (const auto at = changed_.find(path); at != changed_.end()) return at->second;
    llvm::Expected<std::string> text = check::FileSystem::real().read(path);
    if (text) read_[path] = *text;
    return text;
  }};
}

std::vector<Overlay::Change> Overlay::changes() const {
  std::vector<Change> out;
  for (const auto& [path, text] : changed_) {
    const auto before = read_.find(path);
    if (before == read_.end() || before->second != text)
      out.push_back({path, before == read_.end() ? "" : before->second, text});
  }
  return out;
}

llvm::Error Overlay::write() const {
  std::vector<Replacement> replacements;
  for (const Change& change : changes()) {
    llvm::Expected<std::string> now = check::FileSystem::real().read(change.path);
    if (!now) return now.takeError();
    if (*now != change.before)
      return llvm::createStringError(
          fmt::format("{} was changed meanwhile, so nothing was written; run the command again", change.path));
    std::error_code failed;
    const std::filesystem::path target = std::filesystem::canonical(change.path, failed);
    if (failed) return llvm::createStringError(fmt::format("cannot write {}: {}", change.path, failed.message()));
    replacements.emplace_back(target.string());
    if (llvm::Error error = replacements.back().prepare(change.after)) return error;
  }
  for (Replacement& replacement : replacements)
    if (llvm::Error error = replacement.commit()) return error;
  return llvm::Error::success();
}

}  // namespace expc::driver
