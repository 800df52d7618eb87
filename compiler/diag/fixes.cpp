#include "compiler/diag/fixes.h"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace expc::diag {

namespace {

bool before(const FixIt& left, const FixIt& right) {
  const auto place = [](const FixIt& fix) {
    return std::make_tuple(fix.range.file.index, fix.range.begin, fix.range.end);
  };
  return place(left) < place(right);
}

bool same(const FixIt& left, const FixIt& right) {
  return left.range == right.range && left.replacement == right.replacement;
}

/// Two insertions at one place overlap as well: which comes first would be a guess.
bool overlap(const FixIt& left, const FixIt& right) {
  if (!(left.range.file == right.range.file)) return false;
  if (left.range.begin == right.range.begin) return true;
  return left.range.begin < right.range.end && right.range.begin < left.range.end;
}

}  // namespace

FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change) {
  FixSet out;
  for (size_t index = 0; index < diagnostics.size(); ++index) {
    const std::vector<FixIt>& fixes = diagnostics[index].fixes;
    if (fixes.empty()) continue;
    const bool allowed = std::all_of(fixes.begin(), fixes.end(), [&](const FixIt& fix) {
      return fix.range.isValid() && may_change(fix.range.file);
    });
    if (!allowed) continue;
    std::vector<FixIt> fresh;
    bool clash = false;
    for (const FixIt& fix : fixes) {
      const auto clashes = [&](const FixIt& other) { return overlap(fix, other) && !same(fix, other); };
      const auto equal = [&](const FixIt& other) { return same(fix, other); };
      clash |=
          std::any_of(out.edits.begin(), out.edits.end(), clashes) || std::any_of(fresh.begin(), fresh.end(), clashes);
      if (std::none_of(out.edits.begin(), out.edits.end(), equal) && std::none_of(fresh.begin(), fresh.end(), equal))
        fresh.push_back(fix);
    }
    if (clash) {
      ++out.postponed;
      continue;
    }
    out.mended.push_back(index);
    out.edits.insert(out.edits.end(), fresh.begin(), fresh.end());
  }
  std::stable_sort(out.edits.begin(), out.edits.end(), before);
  return out;
}

std::string applyFixes(std::string_view text, source::FileId file, const std::vector<FixIt>& edits) {
  std::string out;
  size_t at = 0;
  for (const FixIt& edit : edits) {
    if (!(edit.range.file == file)) continue;
    assert(edit.range.begin >= at && edit.range.end <= text.size() && "edits are sorted and do not overlap");
    out += text.substr(at, edit.range.begin - at);
    out += edit.replacement;
    at = edit.range.end;
  }
  out += text.substr(at);
  return out;
}

}  // namespace expc::diag
