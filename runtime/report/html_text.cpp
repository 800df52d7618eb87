// Escaping for the page, on top of base::printableLines, which makes control characters and invalid UTF-8 visible
// first. The order matters: what it inserts is escaped as well.

#include "runtime/report/html_text.h"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "runtime/base/llvm.h"
#include "runtime/base/printable.h"

namespace expc::report {

namespace {

/// Replaces characters by `marks`, and control characters by visible ones.
std::string escaped(std::string_view text, std::initializer_list<std::pair<char, std::string_view>> marks) {
  std::string out;
  out.reserve(text.size());
  for (const char c : base::printableLines(text)) {
    const auto mark = std::ranges::find_if(marks, [c](const auto& one) { return one.first == c; });
    mark == marks.end() ? out.push_back(c) : void(out.append(mark->second));
  }
  return out;
}

}  // namespace

std::string html(std::string_view text) {
  return escaped(text, {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string htmlCommand(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    out += "<span class=\"argument\">" + html(text.substr(0, end)) + "</span>";
    if (end < text.size()) out += ' ';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string htmlProse(std::string_view text) {
  std::string out;
  bool code = false;
  // Texts between ticks alternate: outside, inside, outside, …
  for (size_t start = 0;;) {
    const size_t tick = text.find('`', start);
    const bool last = tick == std::string_view::npos;
    out += html(text.substr(start, last ? tick : tick - start));
    // An opening tick without a partner stays a tick.
    if (last) return code ? out + "</code>" : out;
    if (!code && text.find('`', tick + 1) == std::string_view::npos)
      out += '`';
    else {
      code = !code;
      out += code ? "<code>" : "</code>";
    }
    start = tick + 1;
  }
}

std::string capitalised(const std::string& text) {
  return StringRef(text).take_front().upper() + text.substr(std::min<size_t>(1, text.size()));
}

std::string withHoles(std::string_view markup, const std::map<std::string_view, std::string>& holes) {
  std::string out;
  for (size_t hole; (hole = markup.find("${")) != std::string_view::npos;) {
    const size_t end = markup.find('}', hole);
    // A template of ours names every hole, so at() never throws.
    out.append(markup.substr(0, hole)) += holes.at(markup.substr(hole + 2, end - hole - 2));
    markup.remove_prefix(end + 1);
  }
  return out.append(markup);
}

std::string scriptSafe(std::string_view text) {
  return escaped(text, {{'<', "\\u003c"}, {'>', "\\u003e"}, {'&', "\\u0026"}});
}

std::string scriptText(std::string_view javascript) {
  std::string out(javascript);
  // These two end a script element, or put its content into a comment, wherever they stand. Inside a string or regular
  // expression of JavaScript the backslash changes nothing.
  for (const std::string_view bad : {"</script", "<!--"})
    for (size_t at = 0; (at = out.find(bad, at)) != std::string::npos; at += 2) out.insert(at + 1, "\\");
  return out;
}

}  // namespace expc::report
