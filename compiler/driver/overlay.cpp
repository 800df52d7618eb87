#include "compiler/driver/overlay.h"

#include <fmt/format.h>

#include "compiler/driver/replacement.h"

namespace expc::driver {

load::FileSystem Overlay::files() {
  return {[this](const std::string& path) -> llvm::Expected<std::string> {
    if (const auto at = changed_.find(path); at != changed_.end()) return at->second;
    llvm::Expected<std::string> text = load::FileSystem::real().read(path);
    if (text) read_[path] = *text;
    return text;
  }};
}

bool Overlay::holds(const std::string& path, std::string_view text) const {
  const std::map<std::string, std::string>& texts = changed_.contains(path) ? changed_ : read_;
  const auto at = texts.find(path);
  return at != texts.end() && at->second == text;
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
    llvm::Expected<std::string> now = load::FileSystem::real().read(change.path);
    if (!now) return now.takeError();
    if (*now != change.before)
      return llvm::createStringError(
          fmt::format("{} was changed meanwhile, so nothing was written; run the command again", change.path));
    replacements.emplace_back(change.path);
    if (llvm::Error error = replacements.back().prepare(change.after)) return error;
  }
  for (Replacement& replacement : replacements)
    if (llvm::Error error = replacement.commit()) return error;
  return llvm::Error::success();
}

}  // namespace expc::driver
