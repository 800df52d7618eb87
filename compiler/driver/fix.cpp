#include "compiler/driver/fix.h"

#include <fmt/format.h>

#include <memory>
#include <set>

#include "compiler/diag/columns.h"
#include "compiler/diag/fixes.h"
#include "compiler/driver/overlay.h"
#include "compiler/format/diff.h"

namespace expc::driver {

namespace {

// A mend may uncover the next mistake (names are looked up only in a file that parses); more rounds than this would
// mean that mends undo each other.
constexpr int kMaxRounds = 10;

std::string counted(size_t n, std::string_view word) { return fmt::format("{} {}{}", n, word, n == 1 ? "" : "s"); }

/// "study.exp:3:10: replaced `&&` by `and` (E0102)"
std::string describe(const source::SourceManager& sources, const diag::FixIt& edit, diag::Kind kind) {
  const source::Position place = sources.position(edit.range.file, edit.range.begin);
  const std::string before = diag::printable(sources.text(edit.range)), after = diag::printable(edit.replacement);
  const std::string what = before.empty()  ? fmt::format("inserted `{}`", after)
                           : after.empty() ? fmt::format("removed `{}`", before)
                                           : fmt::format("replaced `{}` by `{}`", before, after);
  return fmt::format("{}:{}:{}: {} ({} {})", sources.name(edit.range.file), place.line, place.column, what,
                     diag::code(kind), diag::slug(kind));
}

/// Changes what can be changed at once; says in `said` what that was. False when there was nothing.
bool round(const Compilation& compilation, Overlay& overlay, std::vector<std::string>& said) {
  const source::SourceManager& sources = compilation.sources;
  const std::vector<diag::Diagnostic>& diagnostics = compilation.diagnostics.diagnostics;
  const diag::FixSet set = diag::chooseFixes(diagnostics, [&](source::FileId file) {
    return overlay.holds(std::string(sources.name(file)), sources.text(file));
  });
  if (set.edits.empty()) return false;
  std::set<uint32_t> files;
  for (const diag::FixIt& edit : set.edits) files.insert(edit.range.file.index);
  for (const uint32_t index : files) {
    const source::FileId file{index};
    overlay.change(std::string(sources.name(file)), diag::applyFixes(sources.text(file), file, set.edits));
  }
  for (const size_t index : set.mended)
    for (const diag::FixIt& edit : diagnostics[index].fixes)
      said.push_back(describe(sources, edit, diagnostics[index].kind));
  return true;
}

}  // namespace

bool fix(const StudyOptions& options, bool diff, const Console& console, std::unique_ptr<Compilation>& left) {
  Overlay overlay;
  std::vector<std::string> said;
  for (int count = 0;; ++count) {
    left = std::make_unique<Compilation>();
    verify(options, overlay.files(), console, *left);
    if (left->sources.size() == 0) return false;  // the study could not be read, as was said
    if (count == kMaxRounds || !round(*left, overlay, said)) break;
  }
  const std::vector<Overlay::Change> changes = overlay.changes();
  if (diff) {
    std::string text;
    for (const Overlay::Change& change : changes) text += format::unifiedDiff(change.path, change.before, change.after);
    if (!text.empty() && !console.print(text)) {
      console.error("standard output took no more (closed pipe or full disk)");
      return false;
    }
    return true;
  }
  if (llvm::Error error = overlay.write()) {
    console.error(std::move(error));
    return false;
  }
  for (const std::string& line : said) console.message(line);
  console.message(said.empty()
                      ? std::string("nothing to fix")
                      : fmt::format("{} in {}", counted(said.size(), "change"), counted(changes.size(), "file")));
  return true;
}

}  // namespace expc::driver
