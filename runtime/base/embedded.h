#pragma once

// Files that a binary holds.

#include <string_view>

/// Defines `std::string_view space::name()`, which is the content of the file at `path`. The assembler copies the file
/// in; a string literal of a megabyte takes a compiler seconds and much memory.
#define EXPC_EMBEDDED(space, name, path)                \
  __asm__(                                              \
      ".section .rodata\n"                              \
      ".global expc_asset_" #name ", expc_asset_" #name \
      "_end\n"                                          \
      "expc_asset_" #name                               \
      ":\n"                                             \
      ".incbin \"" path                                 \
      "\"\n"                                            \
      "expc_asset_" #name                               \
      "_end:\n"                                         \
      ".byte 0\n"                                       \
      ".previous\n");                                   \
  extern "C" const char expc_asset_##name[];            \
  extern "C" const char expc_asset_##name##_end[];      \
  std::string_view space::name() { return {expc_asset_##name, size_t(expc_asset_##name##_end - expc_asset_##name)}; }
