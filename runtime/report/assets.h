#pragma once

#include <string_view>

namespace expc::report::assets {

std::string_view style();         // assets/report.css
std::string_view script();        // assets/report.js
std::string_view chartLibrary();  // Vega, Vega-Lite and Vega-Embed in one file; empty if the build had no vl-convert
std::string_view chartConfig();   // assets/chart_config.json: what all charts look like
std::string_view drawScript();    // assets/draw_chart.py

}  // namespace expc::report::assets
