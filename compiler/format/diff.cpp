#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "compiler/format/format.h"

namespace expc::format {

namespace {

constexpr size_t kContext = 3;

using Lines = std::vector<std::string_view>;  // with their newlines

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

/// Of pairs in the order of `before`, the longest sequence in which `after` rises too.
std::vector<Match> longestRising(const std::vector<Match>& pairs) {
  std::vector<size_t> ends;  // for each length: the pair that ends such a sequence lowest
  std::vector<size_t> previous(pairs.size());
  for (size_t at = 0; at < pairs.size(); ++at) {
    const auto place = std::lower_bound(ends.begin(), ends.end(), pairs[at].after,
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
  std::reverse(out.begin(), out.end());
  return out;
}

/// Lines that occur once on each side are pairs, or, where there are none, the first of a text with the first of it,
/// and so on. Of these as many stay as stand in one order; what lies between them is matched in the same way.
void match(const Lines& before, const Lines& after, Match begin, Match end, std::vector<Match>& out) {
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

/// A line of the diff: `-`, `+`, or a blank where it stays.
struct Edit {
  char sign;
  std::string_view line;
};

std::vector<Edit> edits(const Lines& before, const Lines& after) {
  std::vector<Edit> out;
  std::vector<Match> stay;
  match(before, after, {0, 0}, {before.size(), after.size()}, stay);
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

/// The numbers of a side's lines; one without lines is numbered by the line before it.
std::string side(size_t begin, size_t count) {
  return count == 1 ? fmt::format("{}", begin + 1) : fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
}

}  // namespace

std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  const std::vector<Edit> all = edits(linesOf(before), linesOf(after));
  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  size_t b = 0, a = 0;  // lines of each side before `at`
  for (size_t at = 0; at < all.size();) {
    const auto changed = [&](size_t edit) { return edit < all.size() && all[edit].sign != ' '; };
    size_t first = at;
    while (first < all.size() && !changed(first)) ++first;
    if (first == all.size()) break;
    size_t last = first;  // changes whose context meets share a hunk
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
