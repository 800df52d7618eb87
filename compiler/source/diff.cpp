#include "compiler/source/diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace expc::source {

namespace {

using Lines = std::vector<std::string_view>;

constexpr size_t kContext = 3;
constexpr size_t kMaxCells = 16'000'000;  // of the table; beyond it the changed part is one replacement

/// Each with its newline, so that a missing last one is a difference.
Lines split(std::string_view text) {
  Lines out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    out.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return out;
}

/// One line of the difference: kept (' '), removed ('-') or added ('+').
struct Step {
  char sign;
  std::string_view line;
};

/// The changed middle by the longest common subsequence of lines.
void align(const Lines& before, const Lines& after, size_t first, size_t before_end, size_t after_end,
           std::vector<Step>& out) {
  const size_t rows = before_end - first, columns = after_end - first;
  if (rows == 0 || columns == 0 || (rows + 1) > kMaxCells / (columns + 1)) {
    for (size_t i = first; i < before_end; ++i) out.push_back({'-', before[i]});
    for (size_t i = first; i < after_end; ++i) out.push_back({'+', after[i]});
    return;
  }
  const size_t width = columns + 1;
  std::vector<uint32_t> common((rows + 1) * width, 0);  // of the rests from [row][column]
  for (size_t row = rows; row-- > 0;)
    for (size_t column = columns; column-- > 0;)
      common[row * width + column] =
          before[first + row] == after[first + column]
              ? common[(row + 1) * width + column + 1] + 1
              : std::max(common[(row + 1) * width + column], common[row * width + column + 1]);
  size_t row = 0, column = 0;
  while (row < rows || column < columns) {
    if (row < rows && column < columns && before[first + row] == after[first + column]) {
      out.push_back({' ', before[first + row++]});
      ++column;
    } else if (column == columns ||
               (row < rows && common[(row + 1) * width + column] >= common[row * width + column + 1])) {
      out.push_back({'-', before[first + row++]});
    } else {
      out.push_back({'+', after[first + column++]});
    }
  }
}

std::vector<Step> steps(const Lines& before, const Lines& after) {
  size_t first = 0;
  while (first < before.size() && first < after.size() && before[first] == after[first]) ++first;
  size_t before_end = before.size(), after_end = after.size();
  while (before_end > first && after_end > first && before[before_end - 1] == after[after_end - 1]) {
    --before_end;
    --after_end;
  }
  std::vector<Step> out;
  for (size_t i = 0; i < first; ++i) out.push_back({' ', before[i]});
  align(before, after, first, before_end, after_end, out);
  for (size_t i = before_end; i < before.size(); ++i) out.push_back({' ', before[i]});
  return out;
}

std::string range(size_t start, size_t count) {
  // An empty side is named by the line before it.
  return std::to_string(count == 0 ? start : start + 1) + (count == 1 ? "" : "," + std::to_string(count));
}

}  // namespace

std::string unifiedDiff(std::string_view before, std::string_view after, std::string_view name) {
  if (before == after) return "";
  const std::vector<Step> all = steps(split(before), split(after));
  std::string out = "--- a/" + std::string(name) + "\n+++ b/" + std::string(name) + "\n";
  size_t old_line = 0, new_line = 0;  // lines before `at`
  size_t at = 0;
  const auto pass = [&](size_t to) {
    for (; at < to; ++at) {
      old_line += all[at].sign != '+';
      new_line += all[at].sign != '-';
    }
  };
  for (size_t next = 0; next < all.size();) {
    if (all[next].sign == ' ') {
      ++next;
      continue;
    }
    // A hunk goes on while changes are near enough for their contexts to touch.
    size_t last = next, end = next;
    for (; end < all.size() && end - last <= 2 * kContext; ++end)
      if (all[end].sign != ' ') last = end;
    end = std::min(last + 1 + kContext, all.size());
    pass(next - std::min(kContext, next - at));
    size_t removed = 0, added = 0;
    for (size_t i = at; i < end; ++i) {
      removed += all[i].sign != '+';
      added += all[i].sign != '-';
    }
    out += "@@ -" + range(old_line, removed) + " +" + range(new_line, added) + " @@\n";
    for (size_t i = at; i < end; ++i) {
      out += all[i].sign;
      out += all[i].line;
      if (!all[i].line.ends_with('\n')) out += "\n\\ No newline at end of file\n";
    }
    pass(end);
    next = end;
  }
  return out;
}

}  // namespace expc::source
