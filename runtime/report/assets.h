#pragma once

// The files of assets/, which the binary contains, and the templates of charts with their holes.

#include <llvm/Support/JSON.h>

#include <string_view>

#include "runtime/base/llvm.h"

namespace expc::report::assets {

// Markup: the whole page with holes for `withHoles`, and the explanation of its words.
std::string_view page(), reading();  // assets/page.html, reading.html
std::string_view style();            // assets/report.css
std::string_view script();           // assets/report.js
std::string_view chartLibrary();     // Vega, Vega-Lite and Vega-Embed in one file; empty if the build had no vl-convert
std::string_view chartConfig();      // assets/chart_config.json: what all charts look like

// Templates of charts, one for each kind, with holes for what the study says: assets/estimates.vl.json and so on.
std::string_view estimates(), heatMap(), curves(), scatter(), profile();

}  // namespace expc::report::assets

namespace expc::report {

/// Fills the template `file`. "${y.title}" becomes the member `title` of the object `y` in `study`; inside a longer
/// text it becomes a part of that. A member without a value is left out of its object or array. An object with "if":
/// "NAME" stays if NAME has a value other than false; otherwise its "else" takes its place, or it is left out.
json::Object filled(std::string_view file, const json::Object& study);

}  // namespace expc::report
