// `expc check`: reports every mistake in a study that can be known before a run, and with --fix carries out the fixes
// that are certain. Fixes are applied to texts in memory, checked again, and repeated until none is left, since one fix
// can uncover the next mistake; files are written once at the end, all or none.

#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/JSON.h>
#include <llvm/Support/raw_ostream.h>

#include <map>
#include <memory>
#include <set>

#include "cli/commands.h"
#include "cli/compilation.h"
#include "cli/version.h"
#include "compiler/diag/render.h"
#include "compiler/editor/explain.h"
#include "compiler/format/format.h"
#include "runtime/base/entry.h"
#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"
#include "runtime/base/text.h"

namespace expc::cli {

namespace {

/// A fix may uncover the next mistake, since names are looked up only in a file that parses. More rounds than this
/// would mean that fixes undo each other.
constexpr int kMaxRounds = 10;

/// A file as it was read, and with the changes so far that are not written yet.
struct Text {
  std::string before, now;
};
using Texts = std::map<std::string, Text>;  // by path

/// Returns a file system that shows the changed texts, and adds each file that is read to `texts`.
load::FileSystem overlaid(Texts& texts) {
  return {[&texts](const std::string& path) -> Expected<std::string> {
    if (const auto* at = entryOf(texts, path)) return at->now;
    Expected<std::string> text = load::FileSystem::real().read(path);
    if (text) texts[path] = {*text, *text};
    return text;
  }};
}

/// Writes all changed files. Writes nothing if one of them cannot be written, or is no longer what was read: an editor
/// may have saved meanwhile.
Error write(const Texts& changes) {
  std::map<std::string, std::string> texts;
  for (const auto& [path, text] : changes) {
    std::string now = TRY(load::FileSystem::real().read(path));
    if (now != text.before)
      return failure("{} changed in the meantime, so nothing was written; run the command again", path);
    texts[path] = text.now;
  }
  return replaceFiles(texts);
}

/// Describes a change: "study.exp:3:10: replaced `&&` by `and` (E0102)".
std::string describe(const source::SourceManager& sources, const diag::FixIt& edit, diag::Kind kind) {
  const std::string before = base::printable(sources.text(edit.range)), after = base::printable(edit.replacement);
  const std::string what = before.empty()  ? fmt::format("inserted `{}`", after)
                           : after.empty() ? fmt::format("removed `{}`", before)
                                           : fmt::format("replaced `{}` by `{}`", before, after);
  return fmt::format("{}: {} ({} {})", diag::place(sources, edit.range), what, diag::code(kind), diag::slug(kind));
}

/// Applies all fixes that can be made at once to `texts` and adds a line for each to `said`. Returns false if there
/// were none.
bool round(const Compilation& compilation, Texts& texts, std::vector<std::string>& said) {
  const source::SourceManager& sources = compilation.sources;
  const std::vector<diag::Diagnostic>& diagnostics = compilation.diagnostics.diagnostics;
  const diag::FixSet set = diag::chooseFixes(diagnostics, [&](source::FileId file) {
    // Only files that are as they were when they were checked: text from elsewhere, such as the command line, cannot be
    // changed.
    const auto* at = entryOf(texts, std::string(sources.name(file)));
    return at && at->now == sources.text(file);
  });
  if (set.edits.empty()) return false;
  std::set<uint32_t> files;
  for (const diag::FixIt& edit : set.edits) files.insert(edit.range.file.index);
  for (const uint32_t index : files) {
    const source::FileId file{index};
    texts[std::string(sources.name(file))].now = diag::applyFixes(sources.text(file), file, set.edits);
  }
  for (const size_t index : set.mended)
    for (const diag::FixIt& edit : diagnostics[index].fixes)
      said.push_back(describe(sources, edit, diagnostics[index].kind));
  return true;
}

/// Applies fixes round by round until none is left, in the study's file and the files that it imports, and writes them;
/// with `diff` it only prints the changes. `left` becomes the last check, with the mistakes that remain. The error
/// says why nothing could be read or written.
Error fix(const StudyOptions& options, bool diff, const Console& console, std::unique_ptr<Compilation>& left) {
  Texts texts;
  std::vector<std::string> said;
  for (int count = 0;; ++count) {
    left = std::make_unique<Compilation>();
    verify(options, overlaid(texts), console, *left);
    // The study could not be read, which was said.
    if (left->sources.size() == 0) return ended(kError, "");
    if (count == kMaxRounds || !round(*left, texts, said)) break;
  }
  std::erase_if(texts, [](const auto& entry) { return entry.second.before == entry.second.now; });
  if (diff) {
    std::string text;
    for (const auto& [path, change] : texts) text += format::unifiedDiff(path, change.before, change.now);
    return text.empty() || console.printRaw(text) ? Error::success() : ended(kError, "");
  }
  TRY(write(texts));
  console.messages(said);
  console.message(said.empty() ? std::string("nothing to fix")
                               : fmt::format("{} in {}", base::counted(said.size(), "change"),
                                             base::counted(texts.size(), "file")));
  return Error::success();
}

/// Returns the diagnostics as JSON, SARIF 2.1.0 or "expc.diagnostics/1".
json::Value document(const Compilation& compilation, Format format) {
  if (format == Format::Sarif)
    return editor::sarifLog(compilation.sources, compilation.diagnostics.diagnostics, kVersion);
  json::Array diagnostics;
  for (const diag::Diagnostic& diagnostic : compilation.diagnostics.diagnostics)
    diagnostics.push_back(diag::renderJson(compilation.sources, diagnostic));
  return json::Object{{"schema", "expc.diagnostics/1"}, {"diagnostics", std::move(diagnostics)}};
}

}  // namespace

Exit check(const CheckOptions& options, const Console& console) {
  if (options.diff && options.format != Format::Text)
    return usage("--diff and --format exclude each other: both print to standard output");
  // Behind a pointer, since each round of fixes replaces it and a Compilation cannot be moved.
  auto owned = std::make_unique<Compilation>();
  if (!options.fix)
    verify(options.study, load::FileSystem::real(), console, *owned);
  else
    TRY(fix(options.study, options.diff, console, owned));
  Compilation& compilation = *owned;
  const int code = compilation.code();
  if (options.format == Format::Text) {
    const bool any = !compilation.diagnostics.diagnostics.empty();
    showDiagnostics(compilation, console);
    // Without a word a reader could not tell success from a command that did nothing.
    if (!any && code == kSuccess && !options.fix) console.message("{}: no mistakes found", options.study.file);
    return code;
  }
  return console.printRaw(llvm::formatv("{0:2}\n", document(compilation, options.format)).str()) ? code : kError;
}

}  // namespace expc::cli
