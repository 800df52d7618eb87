#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace expc::report {

/// Rows that a table of the page shows at most: one of more is slow to lay out, and the data at the end of the page has
/// all.
constexpr size_t kMaxRows = 500;

/// A table of the page. Wide screens show it as one, in a box that scrolls sideways; a narrow one shows each row as a
/// card whose values stand behind the names of their columns, which is why each cell knows its column.
class HtmlTable {
 public:
  /// `style` is a class of report.css; `label` names the table for who does not see it.
  HtmlTable(std::string_view style, std::string_view label);

  /// A column with its heading. Numbers stand at the right.
  HtmlTable& column(std::string_view name, bool numbers = false);
  /// A column of drawings; `name` says what is drawn how.
  HtmlTable& drawings(std::string_view name);
  /// A line above the headings: `name` over the columns from `first` to the last one.
  HtmlTable& over(std::string_view name, size_t first);

  /// Begins a row; the cells that follow fill it from the left.
  HtmlTable& row(std::string_view style = "");
  /// A cell that says what the row is about. What is `inner` in this and the next is markup.
  HtmlTable& head(std::string_view inner);
  HtmlTable& cell(std::string_view inner, std::string_view style = "", size_t columns = 1);
  HtmlTable& number(std::string_view inner) { return cell(inner, "num"); }
  /// A last row with one drawing, in the last column.
  HtmlTable& foot(std::string_view drawing);

  /// The whole, closed.
  std::string text() const;

 private:
  struct Column {
    std::string name;
    bool numbers = false, drawing = false;
  };

  std::string label_, style_, over_, rows_, foot_;
  std::vector<Column> columns_;
  size_t over_first_ = 0, next_ = 0;
  bool open_ = false;
};

/// Names and values, without headings.
class HtmlFacts {
 public:
  HtmlFacts(std::string_view style, std::string_view label) : style_(style), label_(label) {}
  HtmlFacts& fact(std::string_view name, std::string_view inner);
  std::string text() const;

 private:
  std::string style_, label_, rows_;
};

/// What is wider than the screen, in a box that keyboards reach and scroll. Its script makes it a stop only where there
/// is something to scroll.
std::string scrolled(std::string_view inner, std::string_view label);

}  // namespace expc::report
