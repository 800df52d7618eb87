// Unified diffs by patience matching: lines that occur exactly once on both sides are anchors; the longest chain of
// anchors in the same order stays, and the gaps between them are matched again in the same way. Anchoring on unique
// lines keeps braces and empty lines of unrelated statements from being matched with each other, which makes the diff
// of a reformatted study readable.

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/format/format.h"
#include "runtime/base/format.h"

namespace expc::format {

namespace {

/// Lines that stay around a change in the output.
constexpr size_t kContext = 3;

using Lines = std::vector<std::string_view>;  // each with its newline, if it has one

Lines linesOf(std::string_view text) {
  Lines lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  return lines;
}

/// A line that stays: its index on both sides.
struct Match {
  size_t before, after;
};

/// The longest subsequence of `pairs`, which are in the order of `before`, in which `after` rises too. Patience
/// sorting: O(n log n).
std::vector<Match> longestRising(const std::vector<Match>& pairs) {
  std::vector<size_t> ends;  // for each length, the pair that ends such a sequence with the smallest `after`
  std::vector<size_t> previous(pairs.size());
  for (size_t at = 0; at < pairs.size(); ++at) {
    const auto place = std::ranges::lower_bound(ends, pairs[at].after,
                                                [&](size_t end, size_t after) { return pairs[end].after < after; });
    previous[at] = place == ends.begin() ? pairs.size() : *(place - 1);
    if (place == ends.end())
      ends.push_back(at);
    else
      *place = at;
  }
  std::vector<Match> out;
  for (size_t at = ends.empty() ? pairs.size() : ends.back(); at < pairs.size(); at = previous[at])
    out.push_back(pairs[at]);
  std::ranges::reverse(out);
  return out;
}

/// Appends to `out` the lines that stay between `begin` and `end`. Pairs are lines that occur once on each side. If
/// there are none, the first occurrence of a text on one side is paired with the first on the other, the second with
/// the second, and so on. The longest rising sequence of the pairs stays, and what lies between its members is matched
/// in the same way.
void match(const Lines& before, const Lines& after, Match begin, Match end, std::vector<Match>& out) {
  // The occurrences of one text: their indices in `after`, and how many there are in `before`.
  struct Alike {
    std::vector<size_t> after;
    size_t before = 0;
  };
  std::unordered_map<std::string_view, Alike> places;
  std::vector<Match> pairs, once;
  for (size_t at = begin.after; at < end.after; ++at) places[after[at]].after.push_back(at);
  for (size_t at = begin.before; at < end.before; ++at) {
    Alike& alike = places[before[at]];
    if (alike.before < alike.after.size()) pairs.push_back({at, alike.after[alike.before]});
    ++alike.before;
  }
  for (const Match& pair : pairs)
    if (const Alike& alike = places[before[pair.before]]; alike.before == 1 && alike.after.size() == 1)
      once.push_back(pair);
  if (pairs.empty()) return;
  for (const Match& pair : longestRising(once.empty() ? pairs : once)) {
    match(before, after, begin, pair, out);
    out.push_back(pair);
    begin = {pair.before + 1, pair.after + 1};
  }
  match(before, after, begin, end, out);
}

/// A line of the diff: its sign is `-`, `+`, or a blank if it stays.
struct Edit {
  char sign;
  std::string_view line;
};

/// All lines of both sides in the order of the diff.
std::vector<Edit> edits(const Lines& before, const Lines& after) {
  std::vector<Edit> out;
  std::vector<Match> stay;
  match(before, after, {0, 0}, {before.size(), after.size()}, stay);
  // A sentinel: it brings in the lines behind the last match.
  stay.push_back({before.size(), after.size()});
  size_t b = 0, a = 0;
  for (const Match& one : stay) {
    for (; b < one.before; ++b) out.push_back({'-', before[b]});
    for (; a < one.after; ++a) out.push_back({'+', after[a]});
    if (b < before.size()) out.push_back({' ', before[b]});
    ++b;
    ++a;
  }
  return out;
}

/// The range of lines in a hunk's header. A side without lines is numbered by the line before it, as `patch` expects.
std::string side(size_t begin, size_t count) {
  return count == 1 ? fmt::format("{}", begin + 1) : fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

}  // namespace

std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  const std::vector<Edit> all = edits(linesOf(before), linesOf(after));
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  size_t b = 0, a = 0;  // lines of each side in front of `at`
  for (size_t at = 0; at < all.size();) {
    const auto changed = [&](size_t edit) { return edit < all.size() && all[edit].sign != ' '; };
    size_t first = at;
    while (first < all.size() && !changed(first)) ++first;
    if (first == all.size()) break;
    // Changes share a hunk if their context would touch.
    size_t last = first;
    for (size_t next = first; next <= last + 2 * kContext + 1; ++next)
      if (changed(next)) last = next;
    const size_t begin = first - std::min(first - at, kContext);
    const size_t end = std::min(last + 1 + kContext, all.size());
    b += begin - at;
    a += begin - at;
    const size_t old_b = b, old_a = a;
    std::string text;
    for (at = begin; at < end; ++at) {
      text += all[at].sign;
      text += all[at].line;
      if (!all[at].line.ends_with('\n')) text += "\n\\ No newline at end of file\n";
      if (all[at].sign != '+') ++b;
      if (all[at].sign != '-') ++a;
    }
    out += fmt::format("@@ -{} +{} @@\n{}", side(old_b, b - old_b), side(old_a, a - old_a), text);
  }
  return out;
}

}  // namespace expc::format
