#pragma once

// Files that the binary holds, and how the holes of charts are filled.

#include <llvm/Support/JSON.h>

#include <string_view>

namespace expc::report::assets {

// Markup: the whole page, with holes for `withHoles`; and what the words of the page mean.
std::string_view page(), reading();  // assets/page.html, reading.html
std::string_view style();            // assets/report.css
std::string_view script();           // assets/report.js
std::string_view chartLibrary();     // Vega, Vega-Lite and Vega-Embed in one file; empty if the build had no vl-convert
std::string_view chartConfig();      // assets/chart_config.json: what all charts look like
std::string_view drawScript();       // assets/draw_chart.py
std::string_view parquetScript();    // assets/write_parquet.py
std::string_view parquetTextsScript();  // assets/parquet_texts.py

// Of each kind of chart how it is drawn, with holes for what the study says: assets/estimates.vl.json and so on.
std::string_view estimates(), heatMap(), curves(), scatter(), profile();

}  // namespace expc::report::assets

namespace expc::report {

/// The specification in `file`, filled in. "${y.title}" is what `study` has as `title` in its object `y`; within a
/// longer text it is a part of that. What has no value is left out of its object or array. An object with "if": "NAME"
/// stays where NAME has a value that is not false; else its "else" takes its place, or it is left out too.
llvm::json::Object filled(std::string_view file, const llvm::json::Object& study);

}  // namespace expc::report
