#pragma once

#include <string_view>

namespace expc::report::assets {

std::string_view style();         // assets/report.css
std::string_view script();        // assets/report.js
std::string_view chartLibrary();  // Vega, Vega-Lite and Vega-Embed in one file; empty if the build had no vl-convert

}  // namespace expc::report::assets
