#include "compiler/format/lines.h"

#include <algorithm>
#include <map>

#include "compiler/format/pieces.h"

namespace expc::format {

namespace {

/// Where cell `cell` would end if nothing more were aligned.
unsigned endOf(const Line& line, size_t cell) {
  unsigned end = line.indent;
  for (size_t at = 0; at <= cell; ++at) end += line.cells[at].gap + widthOf(line.cells[at].text);
  return end;
}

/// Aligns cell `cell` of the lines, which all have it. The widest are left out as long as another would get too long.
void alignCell(std::vector<Line*> lines, size_t cell) {
  while (lines.size() > 1) {
    const auto start = [&](const Line* line) { return endOf(*line, cell - 1) + line->cells[cell].gap; };
    const auto widest =
        *std::max_element(lines.begin(), lines.end(), [&](Line* a, Line* b) { return start(a) < start(b); });
    const unsigned column = start(widest);
    const bool fits = std::all_of(lines.begin(), lines.end(),
                                  [&](const Line* line) { return line->width() + column - start(line) <= kMaxWidth; });
    if (fits) {
      for (Line* line : lines) line->cells[cell].gap += column - start(line);
      return;
    }
    std::erase_if(lines, [&, limit = column](const Line* line) { return start(line) == limit; });
  }
}

void alignRun(Line* first, Line* last) {
  size_t cells = 0;
  for (Line* line = first; line != last; ++line) cells = std::max(cells, line->cells.size());
  for (size_t cell = 1; cell < cells; ++cell) {
    std::map<unsigned, std::vector<Line*>> members;  // by column
    for (Line* line = first; line != last; ++line)
      if (cell < line->cells.size()) members[line->cells[cell].column].push_back(line);
    for (auto& [column, lines] : members) alignCell(std::move(lines), cell);
  }
}

/// Where the comments of the run that begins with `first` start: two blanks after the widest of its lines.
unsigned commentColumn(const std::vector<Line>& lines, size_t first) {
  unsigned column = 0;
  for (size_t at = first; at < lines.size(); ++at) {
    const Line& line = lines[at];
    if (line.cells.empty() || line.comment.empty() || (at > first && line.blank_before)) break;
    column = std::max(column, line.width() + 2);
  }
  return column;
}

}  // namespace

unsigned Line::width() const { return cells.empty() ? indent : endOf(*this, cells.size() - 1); }

void alignColumns(std::vector<Line>& lines) {
  for (size_t first = 0; first < lines.size();) {
    size_t last = first + 1;
    if (lines[first].alike != parse::Token::EndOfFile)
      while (last < lines.size() && lines[last].alike == lines[first].alike &&
             lines[last].indent == lines[first].indent && !lines[last].blank_before)
        ++last;
    if (last - first > 1) alignRun(&lines[first], &lines[first] + (last - first));
    first = last;
  }
}

std::string print(const std::vector<Line>& lines) {
  std::string out;
  unsigned column = 0;  // of the comments of this run, 0 outside one
  for (size_t at = 0; at < lines.size(); ++at) {
    const Line& line = lines[at];
    if (line.blank_before && at > 0) out += '\n';
    out.append(line.indent, ' ');
    for (const Cell& cell : line.cells) out.append(cell.gap, ' ').append(cell.text);
    if (line.cells.empty()) {
      out += line.comment;
      column = 0;
    } else if (line.comment.empty()) {
      column = 0;
    } else {
      if (column == 0 || line.blank_before) column = commentColumn(lines, at);
      out.append(column - line.width(), ' ').append(line.comment);
    }
    out += '\n';
  }
  return out;
}

}  // namespace expc::format
