#include "runtime/report/assets.h"

// The assembler copies the files in; a string literal of a megabyte takes a compiler seconds and much memory.
#define EXPC_ASSET(name, path)                                                                    \
  __asm__(                                                                                        \
      ".section .rodata\n"                                                                        \
      ".global expc_asset_" #name ", expc_asset_" #name                                           \
      "_end\n"                                                                                    \
      "expc_asset_" #name                                                                         \
      ":\n"                                                                                       \
      ".incbin \"" path                                                                           \
      "\"\n"                                                                                      \
      "expc_asset_" #name                                                                         \
      "_end:\n"                                                                                   \
      ".byte 0\n"                                                                                 \
      ".previous\n");                                                                             \
  extern "C" const char expc_asset_##name[];                                                      \
  extern "C" const char expc_asset_##name##_end[];                                                \
  std::string_view expc::report::assets::name() {                                                 \
    return {expc_asset_##name, static_cast<size_t>(expc_asset_##name##_end - expc_asset_##name)}; \
  }

EXPC_ASSET(style, EXPC_ASSETS "/report.css")
EXPC_ASSET(page, EXPC_ASSETS "/page.html")
EXPC_ASSET(reading, EXPC_ASSETS "/reading.html")
EXPC_ASSET(script, EXPC_ASSETS "/report.js")
EXPC_ASSET(chartLibrary, EXPC_CHART_LIBRARY)
EXPC_ASSET(chartConfig, EXPC_ASSETS "/chart_config.json")
EXPC_ASSET(drawScript, EXPC_ASSETS "/draw_chart.py")
EXPC_ASSET(parquetScript, EXPC_ASSETS "/write_parquet.py")
EXPC_ASSET(parquetTextsScript, EXPC_ASSETS "/parquet_texts.py")
EXPC_ASSET(estimates, EXPC_ASSETS "/estimates.vl.json")
EXPC_ASSET(heatMap, EXPC_ASSETS "/heat_map.vl.json")
EXPC_ASSET(curves, EXPC_ASSETS "/curves.vl.json")
EXPC_ASSET(scatter, EXPC_ASSETS "/scatter.vl.json")
EXPC_ASSET(profile, EXPC_ASSETS "/profile.vl.json")
