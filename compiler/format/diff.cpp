#include "compiler/format/diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <vector>

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

/// Patience: lines that occur once on each side are anchors, of which the longest rising sequence is kept; what lies
/// between anchors is matched in the same way.
class Matcher {
 public:
  Matcher(const Lines& before, const Lines& after) : before_(before), after_(after) {}

  std::vector<Match> run() {
    match(0, before_.size(), 0, after_.size());
    return std::move(matches_);
  }

 private:
  void match(size_t b0, size_t b1, size_t a0, size_t a1) {
    for (; b0 < b1 && a0 < a1 && before_[b0] == after_[a0]; ++b0, ++a0) matches_.push_back({b0, a0});
    size_t same = 0;
    while (b0 + same < b1 && a0 + same < a1 && before_[b1 - 1 - same] == after_[a1 - 1 - same]) ++same;
    b1 -= same;
    a1 -= same;
    for (const Match& anchor : anchors(b0, b1, a0, a1)) {
      if (anchor.before < b0 || anchor.after < a0) continue;
      match(b0, anchor.before, a0, anchor.after);
      matches_.push_back(anchor);
      b0 = anchor.before + 1;
      a0 = anchor.after + 1;
    }
    for (size_t at = 0; at < same; ++at) matches_.push_back({b1 + at, a1 + at});
  }

  std::vector<Match> anchors(size_t b0, size_t b1, size_t a0, size_t a1) const {
    struct Place {
      size_t in_before = 0, in_after = 0, before = 0, after = 0;
    };
    std::unordered_map<std::string_view, Place> places;
    for (size_t at = b0; at < b1; ++at) {
      Place& place = places[before_[at]];
      ++place.in_before;
      place.before = at;
    }
    for (size_t at = a0; at < a1; ++at) {
      Place& place = places[after_[at]];
      ++place.in_after;
      place.after = at;
    }
    std::vector<Match> once;
    for (size_t at = b0; at < b1; ++at) {
      const Place& place = places[before_[at]];
      if (place.in_before == 1 && place.in_after == 1) once.push_back({at, place.after});
    }
    return longestRising(once);
  }

  /// Of pairs in the order of `before`, the longest sequence in which `after` rises too.
  static std::vector<Match> longestRising(const std::vector<Match>& pairs) {
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

  const Lines& before_;
  const Lines& after_;
  std::vector<Match> matches_;
};

/// Collects the lines of one hunk.
struct Hunk {
  size_t before = 0, after = 0;  // where it begins
  size_t before_count = 0, after_count = 0;
  std::string text;

  void add(char sign, std::string_view line) {
    text += sign;
    text += line;
    if (!line.ends_with('\n')) text += "\n\\ No newline at end of file\n";
    if (sign != '+') ++before_count;
    if (sign != '-') ++after_count;
  }

  /// A side without lines is numbered by the line before it.
  std::string print() const {
    const auto side = [](size_t begin, size_t count) {
      return count == 1 ? fmt::format("{}", begin + 1) : fmt::format("{},{}", count == 0 ? begin : begin + 1, count);
    };
    return fmt::format("@@ -{} +{} @@\n{}", side(before, before_count), side(after, after_count), text);
  }
};

}  // namespace

std::string unifiedDiff(std::string_view name, std::string_view before, std::string_view after) {
  if (before == after) return "";
  const Lines old_lines = linesOf(before), new_lines = linesOf(after);
  std::vector<Match> matches = Matcher(old_lines, new_lines).run();
  matches.push_back({old_lines.size(), new_lines.size()});

  std::string out = fmt::format("--- {}\n+++ {}\n", name, name);
  Hunk hunk;
  bool open = false;
  size_t b = 0, a = 0;
  for (size_t at = 0; at < matches.size();) {
    const bool changed = matches[at].before > b || matches[at].after > a;
    if (changed && !open) {
      const size_t context = std::min({kContext, b, a});
      hunk = {b - context, a - context, 0, 0, ""};
      for (size_t line = b - context; line < b; ++line) hunk.add(' ', old_lines[line]);
      open = true;
    }
    for (; b < matches[at].before; ++b) hunk.add('-', old_lines[b]);
    for (; a < matches[at].after; ++a) hunk.add('+', new_lines[a]);
    // The lines that stay up to the next change.
    size_t stay = 0;
    while (at + stay + 1 < matches.size() && matches[at + stay].before == b + stay &&
           matches[at + stay].after == a + stay)
      ++stay;
    const bool last =
        at + stay + 1 >= matches.size() && matches.back().before == b + stay && matches.back().after == a + stay;
    if (open) {
      const bool joins = !last && stay <= 2 * kContext;
      for (size_t line = 0; line < (joins ? stay : std::min(stay, kContext)); ++line)
        hunk.add(' ', old_lines[b + line]);
      if (!joins) {
        out += hunk.print();
        open = false;
      }
    }
    b += stay;
    a += stay;
    at += stay;
    if (last) break;
  }
  return out;
}

}  // namespace expc::format
