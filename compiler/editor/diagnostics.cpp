// Problems of a document, the actions that mend them, formatting, and the JSON shapes that all features share.
//
// A problem in an imported file is published at the import, with the true place as related information: an editor shows
// diagnostics per document, and the imported file may not be open.

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <set>

#include "compiler/editor/features.h"
#include "compiler/format/format.h"
#include "runtime/base/format.h"

namespace expc::editor {

using json::Array;
using json::Object;
using json::Value;
namespace {

/// A workspace edit of the document in question.
Value changesJson(const Query& query, Array edits) {
  return Object{{"changes", Object{{json::ObjectKey(jsonText(query.document.uri)), std::move(edits)}}}};
}

/// A diagnostic as the protocol has it, at `range` and with `message`.
Object diagnosticJson(const Query& query, const diag::Diagnostic& diagnostic, source::Range range,
                      std::string_view message) {
  return Object{{"range", rangeJson(query, range)},
                {"severity", diagnostic.severity == diag::Severity::Error ? 1 : 2},
                {"code", StringRef(diag::code(diagnostic.kind))},
                {"source", "expc"},
                {"message", jsonText(message)}};
}

constexpr int kUnnecessary = 1;  // the protocol's tag for what could be left out

/// Whether a diagnostic is about something without use, which editors show faded.
bool isUnnecessary(diag::Kind kind) {
  using enum diag::Kind;
  static constexpr diag::Kind kUseless[] = {UselessCoalesce, UnusedParameter, MeasuredTwice, UnusedDesign,
                                            UnusedReference, UnusedSetting,   UselessRule,   LevelNeverOccurs};
  return is_contained(kUseless, kind);
}

/// Adds a module and everything that it imports to `seen`.
void reachable(const load::Module* module, std::set<const load::Module*>& seen) {
  if (!module || !seen.insert(module).second) return;
  for (const auto& [name, target] : module->imports) reachable(target, seen);
}

/// The import of the root through which a file is read; an import that could not be loaded if no other leads there.
source::Range importOf(const Query& query, source::FileId file) {
  // Imports are compared by what they reach, since the file may be imported by an import.
  source::Range unresolved;
  for (const ast::Import& import : query.analysis.program.modules.root().ast.imports) {
    const check::Occurrence* name = query.analysis.names().at(query.analysis.root, import.target_range.begin);
    if (!name) {
      unresolved = import.target_range;  // refused as a whole, so it has no names
      continue;
    }
    std::set<const load::Module*> files;
    reachable(std::get<const load::Module*>(query.analysis.names().symbols()[name->symbol].declaration), files);
    for (const load::Module* module : files)
      if (module->ast.file == file) return import.target_range;
  }
  return unresolved;
}

/// A diagnostic as it is published at `range`. Notes with a place become related information, others lines of the
/// message.
Value published(const Query& query, const diag::Diagnostic& diagnostic, source::Range range, std::string message,
                const std::vector<diag::Note>& notes) {
  Array related;
  for (const diag::Note& note : notes)
    if (!note.range.isValid())
      message += "\n" + note.message;
    else if (Value location = locationJson(query, note.range); location.getAsObject())
      related.push_back(Object{{"location", std::move(location)}, {"message", jsonText(note.message)}});
  // A diagnostic without a place is about the whole file; the protocol wants one, so the beginning stands for it.
  if (!range.isValid()) range = {query.analysis.root, 0, 0};
  Object result = diagnosticJson(query, diagnostic, range, message);
  if (const auto page = query.workspace.explanation(diagnostic.kind))
    result["codeDescription"] = Object{{"href", *page}};
  if (isUnnecessary(diagnostic.kind)) result["tags"] = Array{kUnnecessary};
  if (!related.empty()) result["relatedInformation"] = std::move(related);
  return result;
}

}  // namespace

Array diagnostics(const Query& query) {
  diag::sortByPlace(query.analysis.said.diagnostics);
  Array result;
  std::set<uint32_t> files;
  for (const diag::Diagnostic& diagnostic : query.analysis.said.diagnostics) {
    const source::FileId file = diagnostic.range.file;
    if (!diagnostic.range.isValid() || file == query.analysis.root) {
      result.push_back(published(query, diagnostic, diagnostic.range, diagnostic.message, diagnostic.notes));
    } else if (diagnostic.severity == diag::Severity::Error &&
               files.insert(file.index).second) {  // the first of a file
      // Warnings of imports stay with their own files; one error is enough to say that a file is broken.
      const source::Position at = query.analysis.sources.position(file, diagnostic.range.begin);
      result.push_back(published(
          query, diagnostic, importOf(query, file),
          fmt::format("{} has an error in line {}: {}", query.analysis.sources.name(file), at.line, diagnostic.message),
          {{diagnostic.range, diagnostic.message}}));
    }
  }
  return result;
}

// ---- mends

namespace {

/// The first line of a text, at most 40 bytes of it.
std::string shortened(std::string_view text) {
  constexpr size_t kMost = 40;
  if (text.size() <= kMost && text.find('\n') == std::string_view::npos) return std::string(text);
  return std::string(text.substr(0, std::min(text.find('\n'), kMost))) + "…";
}

/// The title of a mend, as an editor's menu shows it.
std::string title(const Query& query, const diag::Diagnostic& diagnostic) {
  if (diagnostic.fixes.size() != 1) return fmt::format("Fix: {}", diagnostic.message);
  const diag::FixIt& fix = diagnostic.fixes[0];
  const std::string_view old = query.analysis.sources.text(fix.range);
  if (fix.replacement.empty()) return fmt::format("Remove '{}'", shortened(old));
  if (old.empty()) return fmt::format("Insert '{}'", shortened(fix.replacement));
  return fmt::format("Replace '{}' by '{}'", shortened(old), shortened(fix.replacement));
}

Array edits(const Query& query, const std::vector<diag::FixIt>& fixes) {
  Array result;
  for (const diag::FixIt& fix : fixes) result.push_back(editJson(query, fix.range, fix.replacement));
  return result;
}

/// Whether a diagnostic and all parts of its mend are in this document, so that one edit can carry it out.
bool allHere(const Query& query, const diag::Diagnostic& diagnostic) {
  for (const diag::FixIt& fix : diagnostic.fixes)
    if (fix.range.file != query.analysis.root) return false;
  return !diagnostic.fixes.empty() && diagnostic.range.file == query.analysis.root;
}

Object action(const Query& query, std::string title, std::string_view kind, Array edits) {
  return Object{{"title", jsonText(title)}, {"kind", StringRef(kind)}, {"edit", changesJson(query, std::move(edits))}};
}

}  // namespace

Value actions(const Query& query, uint32_t end) {
  Array result;
  for (const diag::Diagnostic& diagnostic : query.analysis.said.diagnostics) {
    if (!allHere(query, diagnostic)) continue;
    if (diagnostic.range.end < query.offset || diagnostic.range.begin > end) continue;
    Object mend = action(query, title(query, diagnostic), "quickfix", edits(query, diagnostic.fixes));
    // Editors carry out a preferred action without asking, so only certain mends are preferred.
    if (diagnostic.fixes[0].applicability == diag::Applicability::Certain) mend["isPreferred"] = true;
    mend["diagnostics"] = Array{diagnosticJson(query, diagnostic, diagnostic.range, diagnostic.message)};
    result.push_back(std::move(mend));
  }
  // Edits that overlap cannot be carried out together; chooseFixes() leaves out a mend that overlaps an earlier one.
  const diag::FixSet all = diag::chooseFixes(query.analysis.said.diagnostics,
                                             [&](source::FileId file) { return file == query.analysis.root; });
  if (!all.edits.empty()) result.push_back(action(query, "Fix all", "source.fixAll", edits(query, all.edits)));
  return result;
}

// ---- formatting

Value formatting(const Query& query) {
  if (!query.analysis.loaded) return nullptr;
  diag::Collector ignored;
  diag::Emitter emitter(ignored);
  const std::optional<std::string> formatted = format::format(query.analysis.sources, query.analysis.root, emitter);
  if (!formatted) return nullptr;
  // One edit from the first line that changes to the last: a whole text would move the cursor and all marks of the
  // editor.
  const std::string& old = query.document.text;
  if (*formatted == old) return Array{};
  size_t front = 0;
  const size_t shorter = std::min(old.size(), formatted->size());
  while (front < shorter && old[front] == (*formatted)[front]) ++front;
  // Whole lines only, so that no edit begins inside a character or a line end.
  while (front > 0 && old[front - 1] != '\n') --front;
  size_t back = 0;
  while (back < shorter - front && old[old.size() - 1 - back] == (*formatted)[formatted->size() - 1 - back]) ++back;
  while (back > 0 && old[old.size() - back - 1] != '\n') --back;
  const source::Range range{query.analysis.root, uint32_t(front), uint32_t(old.size() - back)};
  return Array{editJson(query, range, formatted->substr(front, formatted->size() - back - front))};
}

// ---- the protocol's shapes

Value rangeJson(const Query& query, source::Range range) {
  const auto at = [&](uint32_t offset) {
    const Position position = query.analysis.lines(range.file).position(offset, query.workspace.encoding);
    return Object{{"line", position.line}, {"character", position.character}};
  };
  return Object{{"start", at(range.begin)}, {"end", at(range.end)}};
}

Value editJson(const Query& query, source::Range range, std::string_view text) {
  return Object{{"range", rangeJson(query, range)}, {"newText", jsonText(text)}};
}

Value locationJson(const Query& query, source::Range range) {
  const std::optional<std::string> uri = query.workspace.uri(query.analysis, range.file);
  if (!uri) return nullptr;
  return Object{{"uri", jsonText(*uri)}, {"range", rangeJson(query, range)}};
}

}  // namespace expc::editor
