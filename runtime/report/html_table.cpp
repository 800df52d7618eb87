#include "runtime/report/html_table.h"

#include <fmt/format.h>

#include "runtime/report/html_text.h"

namespace expc::report {
namespace {

std::string attribute(std::string_view name, std::string_view value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, html(value));
}

}  // namespace

HtmlTable::HtmlTable(std::string_view style, std::string_view label) : label_(label), style_(style) {}

HtmlTable& HtmlTable::column(std::string_view name, bool numbers) {
  columns_.push_back({std::string(name), numbers, false});
  return *this;
}

HtmlTable& HtmlTable::drawings(std::string_view name) {
  columns_.push_back({std::string(name), false, true});
  return *this;
}

HtmlTable& HtmlTable::over(std::string_view name, size_t first) {
  over_ = name;
  over_first_ = first;
  return *this;
}

HtmlTable& HtmlTable::row(std::string_view style) {
  if (open_) rows_ += "</tr>";
  rows_ += "<tr" + attribute("class", style) + ">";
  open_ = true;
  next_ = 0;
  return *this;
}

HtmlTable& HtmlTable::head(std::string_view inner) {
  const std::string name = next_ < columns_.size() ? columns_[next_].name : "";
  rows_ += fmt::format("<th scope=\"row\"{}>{}</th>", attribute("data-label", name), inner);
  ++next_;
  return *this;
}

HtmlTable& HtmlTable::cell(std::string_view inner, std::string_view style, size_t columns) {
  const bool named = columns == 1 && next_ < columns_.size() && !columns_[next_].drawing;
  const std::string group = !over_.empty() && next_ >= over_first_ ? over_ + "=" : "";
  rows_ += fmt::format("<td{}{}{}>{}</td>", attribute("class", style),
                       named ? attribute("data-label", group + columns_[next_].name) : "",
                       columns > 1 ? fmt::format(" colspan=\"{}\"", columns) : "", inner);
  next_ += columns;
  return *this;
}

HtmlTable& HtmlTable::foot(std::string_view drawing) {
  foot_ = fmt::format("<tfoot><tr><td colspan=\"{}\"></td><td class=\"drawing\">{}</td></tr></tfoot>",
                      columns_.size() - 1, drawing);
  return *this;
}

std::string HtmlTable::text() const {
  std::string out = fmt::format("<table class=\"{}\"><thead>", style_);
  if (!over_.empty())
    out += fmt::format("<tr>{}<th scope=\"colgroup\" class=\"num\" colspan=\"{}\">{}</th></tr>",
                       over_first_ ? fmt::format("<td colspan=\"{}\"></td>", over_first_) : "",
                       columns_.size() - over_first_, html(over_));
  out += "<tr>";
  for (const Column& column : columns_)
    out += fmt::format("<th scope=\"col\"{}>{}</th>",
                       column.numbers   ? " class=\"num\""
                       : column.drawing ? " class=\"drawing\""
                                        : "",
                       html(column.name));
  out += "</tr></thead><tbody>" + rows_ + (open_ ? "</tr>" : "") + "</tbody>" + foot_ + "</table>";
  return scrolled(out, label_);
}

HtmlFacts& HtmlFacts::fact(std::string_view name, std::string_view inner) {
  rows_ += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", html(name), inner);
  return *this;
}

std::string HtmlFacts::text() const {
  return rows_.empty() ? ""
                       : scrolled(fmt::format("<table class=\"{}\"><tbody>{}</tbody></table>", style_, rows_), label_);
}

std::string scrolled(std::string_view inner, std::string_view label) {
  return fmt::format("<div class=\"scroll\" role=\"group\"{}>{}</div>", attribute("aria-label", label), inner);
}

}  // namespace expc::report
