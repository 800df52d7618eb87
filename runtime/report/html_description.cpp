#include "runtime/report/description_text.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"

namespace expc::report {

std::string folded(const std::string& title, const std::string& body) {
  return "<details><summary>" + html(title) + "</summary>" + body + "</details>\n";
}

std::string folded(const Described& block) {
  std::string body = "<ul>";
  for (const std::string& line : block.lines) body += "<li>" + htmlProse(line) + "</li>";
  return folded(block.title + (block.rest.empty() ? "" : ": " + block.rest), body + "</ul>");
}

std::string descriptionSection(const Page& page) {
  std::string out;
  for (const Described& part : describedTexts(page.plan, *page.judgement.description, page.results))
    out += folded(part);
  return out.empty() ? "" : "<section id=\"description\"><h2>What else there is to see</h2>" + out + "</section>\n";
}

}  // namespace expc::report
