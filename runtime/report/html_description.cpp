#include <fmt/format.h>

#include "runtime/report/description_text.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"

namespace expc::report {

std::string descriptionSection(const Page& page) {
  const auto parts = describedTexts(page.plan, *page.judgement.description, page.results);
  if (parts.empty()) return "";
  std::string out = "<section id=\"description\"><h2>What else there is to see</h2>";
  for (const Described& part : parts) {
    out += fmt::format("<h3>{}</h3><p class=\"quiet\">{}.</p><ul>", html(part.title), html(part.rest));
    for (const std::string& line : part.lines) out += "<li>" + html(line) + "</li>";
    out += "</ul>";
  }
  return out + "</section>\n";
}

}  // namespace expc::report
