#pragma once

#include <string>
#include <string_view>

namespace expc::explain {

struct TextStyle {
  unsigned width = 80;
  bool colour = false;
};

/// Markdown as a terminal shows it: paragraphs and list items wrapped, code blocks indented by four and never wrapped,
/// headings without their signs. Knows what our own pages use: headings, paragraphs, `-` lists, fenced code, `code`,
/// **strong** and [links](target), of which the text is kept. With colour, expected codes in examples (`// E0203`)
/// stand out as a diagnostic would.
std::string renderMarkdown(std::string_view markdown, const TextStyle& style);

}  // namespace expc::explain
