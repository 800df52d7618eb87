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

/// A comment with a margin, as wide as the style has it; "" for none.
std::string wrapped(const std::string& text, unsigned indent, const explain::TextStyle& style) {
  if (text.empty()) return "";
  const explain::TextStyle inner{style.width > indent + 20 ? style.width - indent : 20, style.colour};
  const std::string lines = explain::renderMarkdown(text, inner);
  std::string out;
  for (size_t at = 0; at < lines.size();) {
    const size_t end = std::min(lines.find('\n', at), lines.size());
    if (end > at) out += std::string(indent, ' ') + lines.substr(at, end - at);
    out += "\n";
    at = end + 1;
  }
  return out;
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

std::string renderText(const ModulePage& page, const explain::TextStyle& style) {
  std::string out = style.paint("1", page.title) + "\n\n";
  const auto comment = [&](const std::string& text, unsigned indent) {
    out += wrapped(text, indent, style) + (text.empty() ? "" : "\n");
  };
  comment(page.doc, 0);
  for (const Section& section : page.sections) {
    const bool one = !section.kind.empty();
    out += fmt::format("{}{}{}", section.kind, one ? " " : "", style.paint("1", section.prefix + section.name));
    out += section.version > 0 ? fmt::format("  version {}\n\n", section.version) : "\n\n";
    comment(section.doc, 2);
    if (!section.command.empty()) out += fmt::format("  runs {}\n\n", section.command);
    for (const Table& table : section.tables) {
      if (!table.title.empty()) out += fmt::format("  {}\n", style.paint("1", table.title));
      for (const Row& row : table.rows) {
        out += fmt::format("{:{}}{}{}{}\n", "", one ? 4 : 2, row.before, style.paint("36", row.cells[0]), row.after);
        out += wrapped(row.doc, one ? 8 : 6, style) + wrapped(row.because, one ? 8 : 6, style);
      }
      out += "\n";
    }
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace expc::doc
