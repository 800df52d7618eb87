#pragma once

#include <string>

#include "runtime/rehearsal/rehearsal.h"

namespace expc::report {

// Options of the report page, apart from html.h so that its sections need not include the page.
/// Options of a report page: texts beside the findings, and how the page is made.
struct HtmlOptions {
  /// The folder of the study's results.
  std::string folder = "results";
  /// Unix time that the page shows as its date; 0 takes the present.
  double written = 0;
  /// The program that writes it: "expc 0.1.0".
  std::string program = "";
  /// Rehearsals of the study; null if there were none.
  const rehearsal::Study* rehearsed = nullptr;
  /// Whether the page contains the chart library, most of its size; tests and mail leave it out.
  bool charts = true;
  /// The notice on a live page, as markup; "" on any other.
  std::string live = "";
  /// Whether the page reloads itself every few seconds.
  bool again = false;
};

}  // namespace expc::report
