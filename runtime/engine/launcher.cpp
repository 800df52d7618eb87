#include "runtime/engine/launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace expc::engine {
namespace {

constexpr size_t kMaxLine = 64 << 20;
constexpr size_t kExcerpt = 120;

/// The beginning of a line, fit to print.
std::string excerpt(std::string_view line) {
  std::string text(line.substr(0, kExcerpt));
  std::ranges::replace_if(text, [](unsigned char c) { return c < 0x20 || c >= 0x7f; }, '?');
  return line.size() > kExcerpt ? text + "..." : text;
}

}  // namespace

void EventLines::refuse(std::string why, std::vector<RankReport>& reports) {
  reports.push_back({.what = RankReport::What::Nonsense, .text = std::move(why)});
  over_ = true;
  rest_.clear();
}

void EventLines::take(std::string_view line, std::vector<RankReport>& reports) {
  auto event = plan::eventFromLine(line);
  if (!event) {
    const std::string why = llvm::toString(event.takeError());
    return refuse(fmt::format("wrote a line that is no event: '{}' ({})", excerpt(line), why), reports);
  }
  reports.push_back({.what = RankReport::What::Said, .event = std::move(*event)});
}

std::vector<RankReport> EventLines::add(std::string_view bytes) {
  std::vector<RankReport> reports;
  while (!over_ && !bytes.empty()) {
    const size_t end = bytes.find('\n');
    rest_.append(bytes.substr(0, end));
    if (rest_.size() > kMaxLine) {
      refuse("wrote an event line without an end", reports);
      break;
    }
    if (end == std::string_view::npos) break;
    bytes.remove_prefix(end + 1);
    const std::string line = std::move(rest_);
    rest_.clear();
    take(line, reports);
  }
  return reports;
}

std::vector<RankReport> EventLines::end() {
  std::vector<RankReport> reports;
  if (!rest_.empty()) take(std::exchange(rest_, {}), reports);
  return reports;
}

}  // namespace expc::engine
