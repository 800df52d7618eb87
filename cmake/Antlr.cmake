# ANTLR's tool, and its C++ runtime of the same version: what one writes another version of the other does not read.
#   EXPC_ANTLR_TOOL  antlr4, of the distribution
#   expc_antlr       the runtime, of the distribution (Debian) or compiled from ANTLR's sources where tools/setup has put them, since the
#                    distribution's are two versions (Ubuntu)
find_program(EXPC_ANTLR_TOOL antlr4 REQUIRED)
set(_source "${PROJECT_SOURCE_DIR}/.deps/antlr/systemrdl/parser/ext/antlr4-cpp-runtime")
if(EXISTS "${_source}/antlr4-runtime.h")
  file(GLOB_RECURSE _sources "${_source}/*.cpp")
  add_library(expc_antlr STATIC ${_sources})
  target_include_directories(expc_antlr SYSTEM PUBLIC "${_source}")
  target_compile_options(expc_antlr PRIVATE -w -fno-char8_t)
else()
  find_library(EXPC_ANTLR antlr4-runtime REQUIRED)
  find_path(EXPC_ANTLR_INCLUDE antlr4-runtime.h PATH_SUFFIXES antlr4-runtime REQUIRED)
  add_library(expc_antlr INTERFACE)
  target_include_directories(expc_antlr SYSTEM INTERFACE "${EXPC_ANTLR_INCLUDE}")
  target_link_libraries(expc_antlr INTERFACE ${EXPC_ANTLR})
endif()
# The 4.9 runtime predates char8_t.
target_compile_options(expc_antlr INTERFACE -fno-char8_t)
