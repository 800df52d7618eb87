#include <fmt/format.h>

#include <algorithm>

#include "compiler/doc/render.h"

namespace expc::doc {

namespace {

class TextRenderer {
 public:
  explicit TextRenderer(const explain::TextStyle& style) : style_(style) {}

  std::string render(const ModulePage& page) {
    out_ = paint("1", page.title) + "\n\n";
    comment(page.doc, 0);
    for (const Section& section : page.sections) add(section);
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  std::string paint(std::string_view code, std::string_view text) const {
    return style_.colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }

  void add(const Section& section) {
    const bool one = !section.kind.empty();
    out_ += fmt::format("{}{}{}", section.kind, one ? " " : "", paint("1", section.prefix + section.name));
    out_ += section.version > 0 ? fmt::format("  version {}\n\n", section.version) : "\n\n";
    comment(section.doc, 2);
    if (!section.command.empty()) out_ += fmt::format("  runs {}\n\n", section.command);
    for (const Table& table : section.tables) {
      if (!table.title.empty()) out_ += fmt::format("  {}\n", paint("1", table.title));
      for (const Row& row : table.rows) {
        out_ += fmt::format("{:{}}{}{}{}\n", "", one ? 4 : 2, row.before, paint("36", row.cells[0]), row.after);
        wrapped(row.doc, one ? 8 : 6);
        wrapped(row.because, one ? 8 : 6);
      }
      out_ += "\n";
    }
  }

  /// A comment and an empty line; nothing where there is none.
  void comment(const std::string& text, unsigned indent) {
    wrapped(text, indent);
    if (!text.empty()) out_ += "\n";
  }

  void wrapped(const std::string& text, unsigned indent) {
    if (text.empty()) return;
    const explain::TextStyle inner{style_.width > indent + 20 ? style_.width - indent : 20, style_.colour};
    const std::string lines = explain::renderMarkdown(text, inner);
    for (size_t at = 0; at < lines.size();) {
      const size_t end = std::min(lines.find('\n', at), lines.size());
      if (end > at) out_ += std::string(indent, ' ') + lines.substr(at, end - at);
      out_ += "\n";
      at = end + 1;
    }
  }

  explain::TextStyle style_;
  std::string out_;
};

}  // namespace

std::string renderText(const ModulePage& page, const explain::TextStyle& style) {
  return TextRenderer(style).render(page);
}

}  // namespace expc::doc
