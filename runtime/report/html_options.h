#pragma once

#include <string>

#include "runtime/rehearsal/rehearsal.h"

namespace expc::report {

// Options of the report page, apart from html.h so that its sections need not include the page.
/// Options of a report page: texts beside the findings, and how the page is made.
struct HtmlOptions {
  std::string folder = "results";               // that the study's results are in
  double written = 0;                           // Unix time shown on the page; 0: now
  std::string program = "";                     // what writes it: "expc 0.1.0"
  const rehearsal::Study* rehearsed = nullptr;  // what rehearsals of the study saw; null: there were none
  bool charts = true;                           // false leaves the chart library out: for tests and mail
  std::string live = "";                        // of a run that goes on: what stands above, as markup
  bool again = false;                           // the page loads itself again every few seconds
};

}  // namespace expc::report
