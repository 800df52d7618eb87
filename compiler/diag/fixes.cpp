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

/// Two insertions at one place overlap as well: which comes first would be a guess.
bool overlap(const FixIt& left, const FixIt& right) {
  if (!(left.range.file == right.range.file)) return false;
  if (left.range.begin == right.range.begin) return true;
  return left.range.begin < right.range.end && right.range.begin < left.range.end;
}

}  // namespace

FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change) {
  FixSet out;
  const auto allowed = [&](const FixIt& fix) {
    return fix.applicability == Applicability::Certain && fix.range.isValid() && may_change(fix.range.file);
  };
  const auto clashes = [](const FixIt& fix, const std::vector<FixIt>& others) {
    return std::any_of(others.begin(), others.end(),
                       [&](const FixIt& other) { return overlap(fix, other) && !(fix == other); });
  };
  for (size_t index = 0; index < diagnostics.size(); ++index) {
    const std::vector<FixIt>& fixes = diagnostics[index].fixes;
    // What overlaps the fixes of an earlier one waits for another round.
    const bool good = std::all_of(fixes.begin(), fixes.end(), [&](const FixIt& fix) {
      return allowed(fix) && !clashes(fix, out.edits) && !clashes(fix, fixes);
    });
    if (fixes.empty() || !good) continue;
    out.mended.push_back(index);
    for (const FixIt& fix : fixes)
      if (std::find(out.edits.begin(), out.edits.end(), fix) == out.edits.end()) out.edits.push_back(fix);
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
