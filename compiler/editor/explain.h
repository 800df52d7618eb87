#pragma once

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/source/source.h"

namespace expc::editor {

/// The page of a kind, in Markdown: its title, a sentence that sums it up, the cause, a wrong and a right example, and
/// how to mend it. Each kind has one (tests/golden/pages.py); docs/diagnostics/README.md says how they are written.
std::string_view page(diag::Kind kind);

/// The sentence under a page's title.
std::string summary(diag::Kind kind);

/// The kind that a user names by its code in any case ("e0203") or by its slug ("unknown-unit").
std::optional<diag::Kind> find(std::string_view text);

/// All codes, then all slugs.
std::vector<std::string> names();

struct TextStyle {
  unsigned width = 80;
  bool colour = false;
  /// `text` in the terminal's colour `code`, where there are colours.
  std::string paint(std::string_view code, std::string_view text) const;
};

/// Markdown as a terminal shows it: paragraphs and list items wrapped, code blocks indented by four and never wrapped,
/// headings without their signs. Knows what our own pages use: headings, paragraphs, `-` lists, fenced code, `code`,
/// **strong** and [links](target), of which the text is kept. With colour, expected codes in examples (`// E0203`)
/// stand out as a diagnostic would.
std::string renderMarkdown(std::string_view markdown, const TextStyle& style);

/// Diagnostics as a SARIF 2.1.0 log: the rules that occur with their pages as help, results with related places and
/// fixes. `version` is the program's.
llvm::json::Value sarifLog(const source::SourceManager& sources, const std::vector<diag::Diagnostic>& diagnostics,
                           std::string_view version);

}  // namespace expc::editor
