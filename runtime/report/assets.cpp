#include "runtime/report/assets.h"

// The assembler copies the files in; a string literal of a megabyte takes a compiler seconds and much memory.
#define EXPC_ASSET(name, path)               \
  __asm__(                                   \
      ".section .rodata\n"                   \
      ".global expc_asset_" #name            \
      "\n"                                   \
      ".global expc_asset_" #name            \
      "_end\n"                               \
      "expc_asset_" #name                    \
      ":\n"                                  \
      ".incbin \"" path                      \
      "\"\n"                                 \
      "expc_asset_" #name                    \
      "_end:\n"                              \
      ".byte 0\n"                            \
      ".previous\n");                        \
  extern "C" const char expc_asset_##name[]; \
  extern "C" const char expc_asset_##name##_end[];

EXPC_ASSET(style, EXPC_ASSET_STYLE)
EXPC_ASSET(script, EXPC_ASSET_SCRIPT)
EXPC_ASSET(charts, EXPC_ASSET_CHARTS)
EXPC_ASSET(chart_config, EXPC_ASSET_CHART_CONFIG)
EXPC_ASSET(draw, EXPC_ASSET_DRAW)

namespace expc::report::assets {
namespace {

std::string_view between(const char* begin, const char* end) { return {begin, static_cast<size_t>(end - begin)}; }

}  // namespace

std::string_view style() { return between(expc_asset_style, expc_asset_style_end); }
std::string_view script() { return between(expc_asset_script, expc_asset_script_end); }
std::string_view chartLibrary() { return between(expc_asset_charts, expc_asset_charts_end); }
std::string_view chartConfig() { return between(expc_asset_chart_config, expc_asset_chart_config_end); }
std::string_view drawScript() { return between(expc_asset_draw, expc_asset_draw_end); }

}  // namespace expc::report::assets
