// Finds pages and renders Markdown for a terminal. The renderer reads line by line: it collects a paragraph or list
// item, and writes it wrapped when the next block begins (flush). Widths are counted in columns of the terminal,
// without the escape sequences of colours.

#include "compiler/editor/explain.h"

#include <algorithm>
#include <vector>

#include "compiler/diag/render.h"
#include "compiler/editor/pages.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::editor {

std::string_view page(diag::Kind kind) {
  const std::optional<std::string_view> text = pageText(diag::code(kind));
  return text ? *text : std::string_view();
}

std::string summary(diag::Kind kind) {
  // Each page begins with "# TITLE", an empty line, the sentence, and an empty line.
  std::string_view text = page(kind);
  const size_t title = text.find("\n\n");
  if (title == std::string_view::npos) return "";
  text.remove_prefix(title + 2);
  std::string sentence(text.substr(0, text.find("\n\n")));
  std::ranges::replace(sentence, '\n', ' ');
  return sentence;
}

std::optional<diag::Kind> find(std::string_view text) {
  const StringRef wanted(text.data(), text.size());
  for (diag::Kind kind : diag::allKinds())
    for (std::string_view name : {diag::code(kind), diag::slug(kind)})
      if (wanted.equals_insensitive(StringRef(name.data(), name.size()))) return kind;
  return std::nullopt;
}

std::vector<std::string> names() {
  std::vector<std::string> names;
  for (diag::Kind kind : diag::allKinds()) names.emplace_back(diag::code(kind));
  for (diag::Kind kind : diag::allKinds()) names.emplace_back(diag::slug(kind));
  return names;
}

namespace {

constexpr std::string_view kBold = "1", kCode = "36", kDim = "2", kError = "1;31", kWarning = "1;35";

/// A word of a paragraph: the bytes to print, and their width in columns without colours.
struct Word {
  std::string text;
  uint32_t width = 0;
};

/// Renders one text; used once.
class Renderer {
 public:
  explicit Renderer(const TextStyle& style) : style_(style) { style_.width = std::max(style_.width, 20u); }

  /// The rendered text; ends in one newline.
  std::string render(std::string_view markdown) {
    while (!markdown.empty()) {
      const size_t end = markdown.find('\n');
      line(markdown.substr(0, end));
      markdown.remove_prefix(end == std::string_view::npos ? markdown.size() : end + 1);
    }
    flush();
    while (out_.ends_with("\n\n")) out_.pop_back();
    return std::move(out_);
  }

 private:
  /// Reads one line.
  void line(std::string_view text) {
    if (text.starts_with("```")) {
      flush();
      in_code_ = !in_code_;
      if (!in_code_) out_ += '\n';
    } else if (in_code_) {
      out_ += text.empty() ? "\n" : "    " + code(text) + "\n";
    } else if (text.find_first_not_of(' ') == std::string_view::npos) {
      flush();
    } else if (text.starts_with('#')) {
      flush();
      text.remove_prefix(std::min(text.find_first_not_of("# "), text.size()));
      out_ += style_.paint(kBold, text) + "\n\n";
    } else {
      if (text.starts_with("- ")) {
        flush();
        bullet_ = true;
        // Items of one list stand below each other without an empty line.
        if (out_.ends_with("\n\n") && in_list_) out_.pop_back();
        text.remove_prefix(2);
      }
      text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
      paragraph_ += (paragraph_.empty() ? "" : " ") + std::string(text);
    }
  }

  /// A line of an example. Its comment is dimmed; a code that the example expects is as bright as the diagnostic would
  /// be.
  std::string code(std::string_view text) const {
    const size_t comment = text.find("// ");
    if (!style_.colour || comment == std::string_view::npos) return std::string(text);
    std::string_view note = text.substr(comment);
    // An expected code: E or W and four digits behind the slashes.
    const bool expects = note.size() >= 8 && (note[3] == 'E' || note[3] == 'W') &&
                         std::all_of(note.begin() + 4, note.begin() + 8, [](char c) { return c >= '0' && c <= '9'; });
    return std::string(text.substr(0, comment)) + style_.paint(!expects         ? kDim
                                                               : note[3] == 'E' ? kError
                                                                                : kWarning,
                                                               note);
  }

  /// Writes the paragraph or list item that was read, wrapped.
  void flush() {
    if (paragraph_.empty()) return;
    const std::string indent = bullet_ ? "  " : "";
    std::string text = bullet_ ? "- " : "", before;
    size_t column = text.size();
    for (const Word& word : words()) {
      // The first word never breaks, so a word that is wider than the terminal does not begin with an empty line.
      const bool breaks = !before.empty() && column + 1 + word.width > style_.width;
      column = (breaks ? indent.size() : column + before.size()) + word.width;
      text += (breaks ? "\n" + indent : before) + word.text;
      before = " ";
    }
    out_ += text + "\n\n";
    in_list_ = bullet_;
    bullet_ = false;
    paragraph_.clear();
  }

  /// Cuts the paragraph at its blanks. `code`, **strong** and links are resolved here; code is never cut.
  std::vector<Word> words() const {
    std::vector<Word> out;
    Word word;
    const auto add = [&](std::string_view code, std::string_view text) {
      word.text += code.empty() ? std::string(text) : style_.paint(code, text);
      // Widths in columns: wide characters take two.
      word.width += diag::displayLine(text).columns.back();
    };
    const auto end = [&] {
      if (!word.text.empty()) out.push_back(std::move(word));
      word = {};
    };
    // Each step takes one construct from the front of the text: code, strong text, a link, a blank, or plain text up to
    // the next sign. A sign without its partner is plain text.
    std::string_view rest = paragraph_;
    while (!rest.empty()) {
      size_t close;
      if (rest[0] == '`' && (close = rest.find('`', 1)) != std::string_view::npos) {
        // Without colour the marks stay: they are what tells code from words.
        add(kCode, style_.colour ? rest.substr(1, close - 1) : rest.substr(0, close + 1));
        rest.remove_prefix(close + 1);
      } else if (rest.starts_with("**") && (close = rest.find("**", 2)) != std::string_view::npos) {
        const std::string_view strong = rest.substr(2, close - 2);
        // Strong text may be wrapped, so each of its words is painted by itself.
        for (size_t at = 0; at < strong.size();) {
          const size_t blank = std::min(strong.find(' ', at), strong.size());
          add(kBold, strong.substr(at, blank - at));
          if (blank < strong.size()) end();
          at = blank + 1;
        }
        rest.remove_prefix(close + 2);
      } else if (rest[0] == '[' && (close = rest.find("](")) != std::string_view::npos &&
                 rest.find(')', close) != std::string_view::npos) {
        for (char c : rest.substr(1, close - 1)) c == ' ' ? end() : add("", std::string_view(&c, 1));
        rest.remove_prefix(rest.find(')', close) + 1);
      } else if (rest[0] == ' ') {
        end();
        rest.remove_prefix(1);
      } else {
        const size_t next = std::min(rest.find_first_of(" `*[", 1), rest.size());
        add("", rest.substr(0, next));
        rest.remove_prefix(next);
      }
    }
    end();
    return out;
  }

  TextStyle style_;
  std::string out_, paragraph_;
  // Whether the line is inside a fence, the item being read is a bullet, the block before was one.
  bool in_code_ = false, bullet_ = false, in_list_ = false;
};

}  // namespace

std::string TextStyle::paint(std::string_view code, std::string_view text) const {
  return colour && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string renderMarkdown(std::string_view markdown, const TextStyle& style) {
  return Renderer(style).render(markdown);
}

}  // namespace expc::editor
