#include <fmt/format.h>

#include <algorithm>

#include "compiler/doc/module_page.h"

namespace expc::doc {

namespace {

/// Text for a cell of a table: one line, bars escaped.
std::string cell(const std::string& text, bool code) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return code && !out.empty() ? "`" + out + "`" : out;
}

/// A table without the columns that are empty throughout.
std::string print(const Table& table) {
  const size_t columns = table.columns.size();
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> used(columns + 1, false);
  for (const Row& row : table.rows) {
    std::vector<std::string>& cells = rows.emplace_back();
    for (size_t at = 0; at < columns; ++at)
      cells.push_back(row.cells[at].empty() ? std::string(table.columns[at].missing)
                                            : cell(row.cells[at], table.columns[at].code));
    cells.push_back(cell(row.doc, false));
    for (size_t at = 0; at <= columns; ++at) used[at] = used[at] || !cells[at].empty();
  }
  const auto line = [&](const auto& value) {
    std::string out = "|";
    for (size_t at = 0; at <= columns; ++at)
      if (used[at]) out += fmt::format(" {} |", value(at));
    return out + "\n";
  };
  std::string out = line([&](size_t at) { return at < columns ? table.columns[at].head : "meaning"; });
  out += line([](size_t) { return "---"; });
  for (const std::vector<std::string>& cells : rows) out += line([&](size_t at) { return cells[at]; });
  return out + "\n";
}

}  // namespace

std::string renderMarkdown(const ModulePage& page) {
  std::string out = "# " + page.title + "\n\n";
  const auto add = [&](const std::string& text) {
    if (!text.empty()) out += text + "\n\n";
  };
  add(page.doc);
  for (const Section& section : page.sections) {
    add(fmt::format("## {}{}{}{}", section.kind, section.kind.empty() ? "" : " ", section.prefix, section.name));
    add(section.doc);
    if (section.version > 0)
      add(fmt::format("Version {}.{}", section.version,
                      section.command.empty() ? "" : fmt::format(" Runs `{}`.", section.command)));
    for (const Table& table : section.tables) {
      if (!table.title.empty()) add(fmt::format("### {}", table.title));
      out += print(table);
    }
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

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
