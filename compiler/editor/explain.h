#pragma once

// The pages about kinds of diagnostics (`expc explain`), Markdown in a terminal, and diagnostics as SARIF. Pages are
// written in docs/diagnostics and compiled into the program, so that a message and its page are always of one version.

#include <llvm/Support/JSON.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/diag/source.h"
#include "runtime/base/llvm.h"

namespace expc::editor {

/// The page of a kind of diagnostic, in Markdown: title, summary, cause, a wrong and a right example, and how to mend
/// it. Each kind has one (tests/golden/pages.py checks that); docs/diagnostics/README.md says how they are written.
std::string_view page(diag::Kind kind);

/// The sentence below a page's title, on one line.
std::string summary(diag::Kind kind);

/// The kind with this code ("E0203", in any case) or slug ("unknown-unit"); nothing if there is none.
std::optional<diag::Kind> find(std::string_view text);

/// All codes, then all slugs: the arguments that `expc explain` takes.
std::vector<std::string> names();

/// How text is shown in a terminal.
struct TextStyle {
  unsigned width = 80;  // columns; fewer than 20 count as 20
  bool colour = false;
  /// `text` in a colour of the terminal, given as the parameter of its escape sequence ("1;31"); unchanged without
  /// colour.
  std::string paint(std::string_view code, std::string_view text) const;
};

/// Markdown as a terminal shows it: paragraphs and list items wrapped, code blocks indented by four and never wrapped,
/// headings without their signs. It knows the constructs of our own pages only: headings, paragraphs, `-` lists, fenced
/// code, `code`, **strong**, and [links](target), of which the text is kept. With colour, expected codes in examples
/// (`// E0203`) stand out as a diagnostic would.
std::string renderMarkdown(std::string_view markdown, const TextStyle& style);

/// Diagnostics as a SARIF 2.1.0 log for code scanning services: the kinds that occur as rules with their pages as help,
/// results with related places and fixes. `version` is the program's.
json::Value sarifLog(const source::SourceManager& sources, const std::vector<diag::Diagnostic>& diagnostics,
                     std::string_view version);

}  // namespace expc::editor
