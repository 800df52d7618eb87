// The registry of kinds, the collector, the search for a misspelt name, and the choice of fixes. Text is
// written in render.cpp.

#include "compiler/diag/diagnostic.h"

#include <algorithm>
#include <cassert>

#include "runtime/base/find.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"

namespace expc::diag {

namespace {

struct Entry {
  std::string_view name, code, slug;
};

// In the order of the enumeration, since both come from one file; so a kind is an index.
constexpr Entry kEntries[] = {
#define EXPC_DIAGNOSTIC_KIND(name, code, slug) {#name, code, slug},
#include "compiler/diag/kinds.def"
};

const Entry& entry(Kind kind) {
  assert(size_t(kind) < std::size(kEntries));
  return kEntries[size_t(kind)];
}

/// Whether swapping two neighbouring letters turns one into the other: `form` and `from`. A common slip that
/// plain Levenshtein distance counts as two edits.
bool isSwapped(std::string_view left, std::string_view right) {
  if (left.size() != right.size()) return false;
  const auto first = std::mismatch(left.begin(), left.end(), right.begin());
  if (left.end() - first.first < 2) return false;
  return first.first[0] == first.second[1] && first.first[1] == first.second[0] &&
         std::equal(first.first + 2, left.end(), first.second + 2);
}

/// Whether two edits touch the same text. Two insertions at one place overlap too, since their order is
/// undefined.
bool overlap(const FixIt& left, const FixIt& right) {
  if (!(left.range.file == right.range.file)) return false;
  if (left.range.begin == right.range.begin) return true;
  return left.range.begin < right.range.end && right.range.begin < left.range.end;
}

}  // namespace

std::string_view name(Kind kind) { return entry(kind).name; }
std::string_view code(Kind kind) { return entry(kind).code; }
std::string_view slug(Kind kind) { return entry(kind).slug; }
Severity severityOf(Kind kind) { return code(kind)[0] == 'W' ? Severity::Warning : Severity::Error; }

const std::vector<Kind>& allKinds() {
  static const std::vector<Kind> kinds = {
#define EXPC_DIAGNOSTIC_KIND(name, code, slug) Kind::name,
#include "compiler/diag/kinds.def"
  };
  return kinds;
}

/// Sort key of anything with a range. An invalid file id is the largest number, so adding one wraps it to zero
/// and puts items without a place first.
static constexpr auto placeOf = [](const auto& placed) {
  return std::tuple(placed.range.file.index + 1, placed.range.begin, placed.range.end);
};

bool Collector::tells(const Diagnostic& diagnostic) const {
  const bool room = diagnostics.size() < kMostTold || (diagnostic.severity == Severity::Error && !failed_);
  return room && !told_.contains(std::tuple_cat(placeOf(diagnostic), std::tie(diagnostic.kind, diagnostic.message)));
}

void Collector::add(Diagnostic diagnostic) {
  if (!told_.insert(std::tuple_cat(placeOf(diagnostic), std::tie(diagnostic.kind, diagnostic.message))).second) return;
  failed_ = failed_ || diagnostic.severity == Severity::Error;
  // A stranger's file may have names of any length; what is wrong and the way out stand at the ends.
  constexpr unsigned kLongest = 1600;
  diagnostic.message = base::elided(diagnostic.message, kLongest);
  for (Note& note : diagnostic.notes) note.message = base::elided(note.message, kLongest);
  diagnostics.push_back(std::move(diagnostic));
}

void sortByPlace(std::vector<Diagnostic>& diagnostics) { std::ranges::stable_sort(diagnostics, {}, placeOf); }

// ---- names

std::optional<std::string> closest(std::string_view name, const std::vector<std::string>& candidates) {
  // The distance costs the product of the lengths, and among thousands of names one is near by chance.
  constexpr size_t kLongest = 64, kMost = 1000;
  if (name.empty() || name.size() > kLongest || candidates.size() > kMost) return std::nullopt;
  // Compare in lower case, since case is a frequent slip and costs nothing. Two thirds of the letters must fit.
  std::string lower = StringRef(name.data(), name.size()).lower();
  unsigned limit = std::max<unsigned>(1, unsigned(name.size() + 1) / 3);
  unsigned best = limit + 1;
  std::optional<std::string> found;
  for (const std::string& candidate : candidates) {
    if (candidate.empty() || candidate.size() > kLongest || candidate == name) continue;
    // A swap is two edits to Levenshtein but one slip, so it is looked for first.
    if (best > 1 && isSwapped(lower, StringRef(candidate).lower())) {
      best = 1;
      found = candidate;
      continue;
    }
    unsigned distance = StringRef(lower).edit_distance(StringRef(candidate).lower(), true, limit + 1);
    // A word in which every letter is replaced is another word: `a` is no likely slip for `b`.
    if (distance >= std::min(name.size(), candidate.size())) continue;
    if (distance < best) {
      best = distance;
      found = candidate;
    }
  }
  return found;
}

std::string didYouMean(std::string_view name, const std::vector<std::string>& candidates, std::string otherwise) {
  const std::optional<std::string> near = closest(name, candidates);
  return near ? fmt::format("did you mean '{}'?", *near) : otherwise;
}

Builder::~Builder() {
  if (!collector_) return;
  const source::Range& at = diagnostic_.range;
  if (inclusions_)
    for (const Inclusion& one : *inclusions_)
      if (at.file == one.whole.file && one.whole.begin <= at.begin && at.end <= one.whole.end)
        note(one.use, "the part '{}' is used here", one.name);
  collector_->add(std::move(diagnostic_));
}

std::optional<std::string> Builder::suggest(
    source::Range range, std::string_view name, const Candidates& candidates,
    const std::function<std::string(const std::vector<std::string>&)>& otherwise) {
  if (!collector_) return std::nullopt;
  const std::vector<std::string> names = candidates();
  std::optional<std::string> near = closest(name, names);
  // A near name is offered as a fix; else the caller may say what names there are.
  if (near)
    guess(range, *near);
  else if (const std::string text = otherwise ? otherwise(names) : ""; !text.empty())
    note("{}", text);
  return near;
}

std::string list(const std::vector<std::string>& names, std::string_view last) {
  // A list of thousands hides the message that it belongs to.
  constexpr size_t kMost = 100;
  std::string text;
  for (size_t i = 0; i < names.size() && i < kMost; ++i) {
    if (i > 0) text += i + 1 == names.size() ? fmt::format(" {} ", last) : std::string(", ");
    text += names[i];
  }
  return names.size() <= kMost ? text : fmt::format("{} {} {} more", text, last, names.size() - kMost);
}

Refusal unknownName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                    const Candidates& candidates, std::string_view of, std::optional<std::string>* meant) {
  auto builder = emitter.emit(range, UnknownName, what, name, of);
  // A short list is worth showing whole; a long one only repeats the documentation.
  const auto near = builder.suggest(range, name, candidates, [&](const std::vector<std::string>& names) -> std::string {
    if (names.empty()) return fmt::format("there is no {} to choose from", what);
    return names.size() > 20 ? "" : fmt::format("there {} {}", names.size() == 1 ? "is" : "are", list(names));
  });
  if (meant) *meant = near;
  return builder;
}

Refusal duplicateName(Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                      source::Range first) {
  return emitter.emit(range, DuplicateName, what, name).note(first, "the first one is here");
}

// ---- fixes

FixSet chooseFixes(const std::vector<Diagnostic>& diagnostics, const std::function<bool(source::FileId)>& may_change) {
  FixSet out;
  const auto allowed = [&](const FixIt& fix) {
    return fix.applicability == Applicability::Certain && fix.range.isValid() && may_change(fix.range.file);
  };
  const auto clashes = [](const FixIt& fix, const std::vector<FixIt>& others) {
    return std::ranges::any_of(others, [&](const FixIt& other) { return overlap(fix, other) && !(fix == other); });
  };
  for (size_t index = 0; index < diagnostics.size(); ++index) {
    const std::vector<FixIt>& fixes = diagnostics[index].fixes;
    // A fix that overlaps an earlier one waits until the caller checks and fixes again.
    const bool good = std::ranges::all_of(
        fixes, [&](const FixIt& fix) { return allowed(fix) && !clashes(fix, out.edits) && !clashes(fix, fixes); });
    if (fixes.empty() || !good) continue;
    out.mended.push_back(index);
    for (const FixIt& fix : fixes) base::addOnce(out.edits, fix);
  }
  std::ranges::stable_sort(out.edits, {}, placeOf);
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
