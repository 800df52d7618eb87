// Renders diagnostics as text and as JSON. Two positions exist for each character: the byte in the source and
// the column on the screen. They differ for tabs, wide characters and replaced bytes, so carets are placed
// through DisplayLine::columns, never by counting bytes.

#include "compiler/diag/render.h"

#include <llvm/Support/ConvertUTF.h>
#include <llvm/Support/Unicode.h>

#include <algorithm>

#include "runtime/base/printable.h"

namespace expc::diag {

using json::Object;

namespace {

constexpr uint32_t kTab = 4;
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool isControl(char32_t code) { return code < 0x20 || (code >= 0x7F && code < 0xA0); }
/// Unicode marks that reorder the text behind them: the terminal would show another line than the compiler
/// reads ("Trojan Source", CVE-2021-42574).
bool isBidirectional(char32_t code) {
  return (code >= 0x202A && code <= 0x202E) || (code >= 0x2066 && code <= 0x2069) || code == 0x200E || code == 0x200F;
}

/// Calls `visit(written, shown, width)` for each character: its bytes in the source, the bytes to show instead,
/// and the number of screen columns these take (0 for combining marks, 2 for wide characters).
template <typename Visit>
void forEachCharacter(std::string_view text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const auto* begin = reinterpret_cast<const llvm::UTF8*>(text.data() + at);
    const auto* past = begin;
    llvm::UTF32 code = 0;
    const auto read = llvm::convertUTF8Sequence(&past, begin + (text.size() - at), &code, llvm::strictConversion);
    const std::string_view sequence = text.substr(at, std::max<size_t>(past - begin, 1));
    if (read != llvm::conversionOK || (isControl(code) && code != '\t') || isBidirectional(code)) {
      visit(sequence, kReplacement, 1u);
    } else {
      int width = llvm::sys::unicode::columnWidthUTF8(StringRef(sequence.data(), sequence.size()));
      visit(sequence, sequence, uint32_t(std::max(width, 0)));
    }
    at += sequence.size();
  }
}

// Width of the window that is shown of a longer line.
constexpr uint32_t kMaxLineColumns = 160;
// Bytes of a line that are laid out: enough to fill the window, and a bound on the time for a line of
// megabytes.
constexpr uint32_t kMaxLineBytes = 4096;

/// ANSI colours, or none.
struct Style {
  bool colour;
  std::string paint(std::string_view code, std::string_view text) const {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
  }
  std::string bold(std::string_view text) const { return paint("1", text); }
  std::string severity(Severity severity, std::string_view text) const {
    return paint(severity == Severity::Error ? "1;31" : severity == Severity::Warning ? "1;35" : "1;36", text);
  }
  std::string gutter(std::string_view text) const { return paint("34", text); }
};

/// Cuts a long line to a window around the carets. `first` and `last` are the screen columns of the marked
/// part; they are moved to where the marked part stands in the window.
void clip(std::string& text, uint32_t& first, uint32_t& last, const DisplayLine& line) {
  if (line.columns.back() <= kMaxLineColumns) return;
  uint32_t from = first > kMaxLineColumns / 2 ? first - kMaxLineColumns / 2 : 0;
  uint32_t to = from + kMaxLineColumns;
  // Positions in the shown text need a layout of their own, since it holds replacements of other lengths than
  // the source.
  DisplayLine shown = displayLine(line.text);
  size_t begin = std::ranges::lower_bound(shown.columns, from) - shown.columns.begin();
  size_t end = std::ranges::lower_bound(shown.columns, to) - shown.columns.begin();
  uint32_t start = shown.columns[begin];
  bool cut_left = begin > 0, cut_right = end + 1 < shown.columns.size();
  end = std::min(end, line.text.size());
  text = fmt::format("{}{}{}", cut_left ? "…" : "", line.text.substr(begin, end - begin), cut_right ? "…" : "");
  // The ellipsis on the left takes one column.
  uint32_t shift = start - (cut_left ? 1 : 0);
  last = std::min(last, shown.columns[end]);
  first -= std::min(first, shift);
  last -= std::min(last, shift);
}

/// The source line, and the carets under the part of `range` that lies on it. Empty for an empty file.
std::string snippet(const source::SourceManager& sources, source::Range range, Severity severity, const Style& style) {
  uint32_t line_begin = 0;
  std::string_view line = sources.line(range.file, range.begin, &line_begin);
  if (line.empty() && sources.text(range.file).empty()) return "";
  uint32_t number = sources.position(range.file, range.begin).line;
  // Lay out only the bytes around the place, starting at the beginning of a character.
  if (line.size() > kMaxLineBytes) {
    const uint32_t at = std::min(range.begin - line_begin, uint32_t(line.size()));
    uint32_t from = at - std::min(at, kMaxLineBytes / 2);
    while (from > 0 && (static_cast<unsigned char>(line[from]) & 0xC0) == 0x80) --from;
    line = line.substr(from, kMaxLineBytes);
    line_begin += from;
  }
  uint32_t size = uint32_t(line.size());
  DisplayLine display = displayLine(line);
  uint32_t first = display.columns[std::min(range.begin - line_begin, size)];
  uint32_t last = display.columns[std::min(std::max(range.end, range.begin) - line_begin, size)];
  std::string text = display.text;
  clip(text, first, last, display);

  // A range over several lines is marked to the end of its first one, where `columns` is clamped.
  std::string label = fmt::format("{:>5} | ", number);
  std::string marks = fmt::format("^{:~<{}}", "", last > first + 1 ? last - first - 1 : 0);
  return style.gutter(label) + text + "\n" + style.gutter("      | ") + std::string(first, ' ') +
         style.severity(severity, marks) + "\n";
}

/// A fix in words: "insert", "remove" or "replace".
std::string fixText(const source::SourceManager& sources, const FixIt& fix) {
  std::string removed = base::printable(sources.text(fix.range));
  std::string added = base::printable(fix.replacement);
  if (removed.empty()) return fmt::format("insert `{}`", added);
  if (added.empty()) return fmt::format("remove `{}`", removed);
  return fmt::format("replace `{}` by `{}`", removed, added);
}

json::Value positionJson(const source::SourceManager& sources, source::FileId file, uint32_t offset) {
  source::Position where = sources.position(file, offset);
  return Object{{"line", where.line}, {"column", where.column}, {"offset", offset}};
}

void addRange(Object& object, const source::SourceManager& sources, source::Range range) {
  if (!range.isValid()) return;
  object["file"] = jsonText(sources.name(range.file));
  object["range"] = Object{{"begin", positionJson(sources, range.file, range.begin)},
                           {"end", positionJson(sources, range.file, range.end)}};
}

}  // namespace

DisplayLine displayLine(std::string_view line) {
  DisplayLine out;
  out.columns.reserve(line.size() + 1);
  uint32_t column = 0;
  forEachCharacter(line, [&](std::string_view written, std::string_view shown, uint32_t width) {
    // Every byte of a character has the character's column, so that a range may point into its middle.
    out.columns.insert(out.columns.end(), written.size(), column);
    if (written == "\t") {
      width = kTab - column % kTab;
      out.text.append(width, ' ');
    } else {
      out.text.append(shown);
    }
    column += width;
  });
  out.columns.push_back(column);
  return out;
}

std::string_view word(Severity severity) {
  return severity == Severity::Error ? "error" : severity == Severity::Warning ? "warning" : "note";
}

std::string jsonText(std::string_view text) { return json::fixUTF8(text); }

std::string place(const source::SourceManager& sources, source::Range range) {
  source::Position where = sources.position(range.file, range.begin);
  return fmt::format("{}:{}:{}", base::printable(sources.name(range.file)), where.line, where.column);
}

std::string renderText(const source::SourceManager& sources, const Diagnostic& diagnostic, bool colour) {
  Style style{colour};
  std::string out;
  const auto say = [&](source::Range range, Severity severity, std::string_view head, std::string_view text) {
    if (range.isValid()) out += style.bold(place(sources, range) + ":") + " ";
    out += fmt::format("{} {}\n", style.severity(severity, head), text);
    if (range.isValid()) out += snippet(sources, range, severity, style);
  };
  say(diagnostic.range, diagnostic.severity, fmt::format("{}[{}]:", word(diagnostic.severity), code(diagnostic.kind)),
      style.bold(diagnostic.message));
  for (const Note& note : diagnostic.notes) say(note.range, Severity::Note, "note:", note.message);
  // A guess was added as a note too (Builder::guess), so only certain fixes are listed.
  for (const FixIt& fix : diagnostic.fixes)
    if (fix.applicability == Applicability::Certain)
      out += fmt::format("{} {}\n", style.paint("1;32", "help:"), fixText(sources, fix));
  return out;
}

json::Value renderJson(const source::SourceManager& sources, const Diagnostic& diagnostic) {
  Object out{{"code", jsonText(code(diagnostic.kind))},
             {"slug", jsonText(slug(diagnostic.kind))},
             {"severity", jsonText(word(diagnostic.severity))},
             {"message", jsonText(diagnostic.message)}};
  addRange(out, sources, diagnostic.range);
  json::Array notes, fixes;
  for (const Note& note : diagnostic.notes) {
    Object object{{"message", jsonText(note.message)}};
    addRange(object, sources, note.range);
    notes.push_back(std::move(object));
  }
  for (const FixIt& fix : diagnostic.fixes) {
    Object object{{"replacement", jsonText(fix.replacement)},
                  {"applicability", fix.applicability == Applicability::Certain ? "certain" : "guess"}};
    addRange(object, sources, fix.range);
    fixes.push_back(std::move(object));
  }
  out["notes"] = std::move(notes);
  out["fixes"] = std::move(fixes);
  return out;
}

}  // namespace expc::diag
