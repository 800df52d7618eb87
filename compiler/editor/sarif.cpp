// Diagnostics as SARIF 2.1.0 (OASIS), the format that code scanning services read. One log has one run; rules are the
// kinds that occur, and results refer to them by index. Columns are counted in characters, as in the terminal's
// messages (`columnKind`).

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <string>

#include "compiler/diag/render.h"
#include "compiler/editor/explain.h"
#include "runtime/base/format.h"

namespace expc::editor {

namespace {

using diag::jsonText;
using json::Array;
using json::Object;
using json::Value;

/// SARIF's message object. jsonText() makes valid UTF-8 of texts that quote a user's file.
Object message(std::string_view text) { return Object{{"text", jsonText(text)}}; }

/// A path as a URI: a relative one stays relative, an absolute one becomes `file:`, a module of the standard library
/// gets a scheme of our own, since it has no file.
std::string uri(std::string_view path) {
  constexpr std::string_view kStdlib = "<stdlib>/";
  std::string out;
  if (path.starts_with(kStdlib)) {
    out = "expc:stdlib/";
    path.remove_prefix(kStdlib.size());
  } else if (path.starts_with('/')) {
    out = "file://";
  }
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("/-._~").find(c) != std::string_view::npos;
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// A range as SARIF's region: lines and columns from one, and bytes.
Object region(const source::SourceManager& sources, source::Range range) {
  const source::Position begin = sources.position(range.file, range.begin);
  const source::Position end = sources.position(range.file, range.end);
  return Object{{"startLine", begin.line}, {"startColumn", begin.column}, {"endLine", end.line},
                {"endColumn", end.column}, {"byteOffset", range.begin},   {"byteLength", range.end - range.begin}};
}

/// A file, and a place in one, as SARIF refers to them.
Object artifact(const source::SourceManager& sources, source::FileId file) {
  return Object{{"uri", uri(sources.name(file))}};
}

Object location(const source::SourceManager& sources, source::Range range) {
  return Object{{"physicalLocation",
                 Object{{"artifactLocation", artifact(sources, range.file)}, {"region", region(sources, range)}}}};
}

/// A kind of diagnostic as a rule, with its page as help.
Object rule(diag::Kind kind) {
  const std::string_view code = diag::code(kind);
  const TextStyle plain{.width = 100, .colour = false};
  return Object{
      {"id", jsonText(code)},
      {"name", jsonText(diag::name(kind))},
      {"shortDescription", message(summary(kind))},
      {"fullDescription", message(summary(kind))},
      {"help", Object{{"text", jsonText(renderMarkdown(page(kind), plain))}, {"markdown", jsonText(page(kind))}}},
      {"defaultConfiguration", Object{{"level", code[0] == 'W' ? "warning" : "error"}}}};
}

/// The fixes of one diagnostic as a single SARIF fix, with one change per file: SARIF wants the replacements in a file
/// together.
Object fixObject(const source::SourceManager& sources, const std::vector<diag::FixIt>& fixes) {
  Array changes;
  // Groups the replacements by file, in the order in which files first occur.
  std::vector<bool> done(fixes.size(), false);
  for (size_t first = 0; first < fixes.size(); ++first) {
    if (done[first]) continue;
    Array replacements;
    for (size_t i = first; i < fixes.size(); ++i) {
      if (!(fixes[i].range.file == fixes[first].range.file)) continue;
      done[i] = true;
      replacements.push_back(Object{{"deletedRegion", region(sources, fixes[i].range)},
                                    {"insertedContent", message(fixes[i].replacement)}});
    }
    changes.push_back(Object{{"artifactLocation", artifact(sources, fixes[first].range.file)},
                             {"replacements", std::move(replacements)}});
  }
  const bool certain = fixes[0].applicability == diag::Applicability::Certain;
  return Object{{"description", message(certain ? "A safe fix" : "Probably meant")},
                {"artifactChanges", std::move(changes)}};
}

/// One diagnostic. Notes with a place become related locations, others further lines of the message. Fixes are left out
/// if one of them has no place.
Object result(const source::SourceManager& sources, const diag::Diagnostic& diagnostic, size_t rule_index) {
  std::string text = diagnostic.message;
  Array related;
  // SARIF gives related locations a number, by which a message can refer to them.
  for (const diag::Note& note : diagnostic.notes) {
    if (note.range.isValid()) {
      Object place = location(sources, note.range);
      place["id"] = int64_t(related.size() + 1);
      place["message"] = message(note.message);
      related.push_back(std::move(place));
    } else {
      text += "\n" + note.message;
    }
  }
  // `ruleIndex` refers to the list of rules in the same log.
  Object out{{"ruleId", jsonText(diag::code(diagnostic.kind))},
             {"ruleIndex", int64_t(rule_index)},
             {"level", jsonText(diag::word(diagnostic.severity))},
             {"message", message(text)}};
  if (diagnostic.range.isValid()) out["locations"] = Array{location(sources, diagnostic.range)};
  if (!related.empty()) out["relatedLocations"] = std::move(related);
  // A fix that is shown in part could be applied in part.
  const bool placed = std::ranges::all_of(diagnostic.fixes, [](const diag::FixIt& fix) { return fix.range.isValid(); });
  if (!diagnostic.fixes.empty() && placed) out["fixes"] = Array{fixObject(sources, diagnostic.fixes)};
  return out;
}

}  // namespace

Value sarifLog(const source::SourceManager& sources, const std::vector<diag::Diagnostic>& diagnostics,
               std::string_view version) {
  // The kinds that occur, sorted and each once; a result refers to its rule by the index in this list.
  std::vector<diag::Kind> kinds;
  for (const diag::Diagnostic& diagnostic : diagnostics) kinds.push_back(diagnostic.kind);
  std::ranges::sort(kinds);
  kinds.erase(llvm::unique(kinds), kinds.end());
  Array rules, results;
  for (const diag::Kind kind : kinds) rules.push_back(rule(kind));
  for (const diag::Diagnostic& diagnostic : diagnostics) {
    const auto at = std::ranges::lower_bound(kinds, diagnostic.kind);
    results.push_back(result(sources, diagnostic, size_t(at - kinds.begin())));
  }
  Object driver{{"name", "expc"}, {"version", jsonText(version)}, {"rules", std::move(rules)}};
  return Object{{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                {"version", "2.1.0"},
                {"runs", Array{Object{{"tool", Object{{"driver", std::move(driver)}}},
                                      {"columnKind", "unicodeCodePoints"},
                                      {"results", std::move(results)}}}}};
}

}  // namespace expc::editor
