# expc_embed(NAME FILES GLOB HEADER header NAMESPACE namespace FUNCTION text_of LIST stems)
# A library NAME with the text of every file that GLOB (from the current directory) matches, so that `expc` reads no files
# of its own at run time. HEADER, which is made too, declares in NAMESPACE:
#   std::optional<std::string_view> FUNCTION(std::string_view stem);  const std::vector<std::string_view>& LIST();
set(EXPC_EMBED_SCRIPT "${CMAKE_CURRENT_LIST_DIR}/embed_files.cmake")
function(expc_embed name)
  cmake_parse_arguments(ARG "" "FILES;HEADER;NAMESPACE;FUNCTION;LIST" "" ${ARGN})
  file(GLOB _files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${ARG_FILES}")
  list(SORT _files)
  string(REPLACE ";" "|" _joined "${_files}")
  set(_generated "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  set(_headers "${PROJECT_BINARY_DIR}/embedded")
  file(CONFIGURE OUTPUT "${_headers}/${ARG_HEADER}" @ONLY CONTENT "#pragma once
// The texts of ${ARG_FILES}, which live as long as the program, by what is before the dot of their names; and these names, sorted.
#include <optional>
#include <string_view>
#include <vector>

namespace ${ARG_NAMESPACE} {
std::optional<std::string_view> ${ARG_FUNCTION}(std::string_view name);
const std::vector<std::string_view>& ${ARG_LIST}();
}  // namespace ${ARG_NAMESPACE}
")
  add_custom_command(
    OUTPUT "${_generated}"
    COMMAND ${CMAKE_COMMAND} "-DFILES=${_joined}" "-DOUTPUT=${_generated}" "-DHEADER=${ARG_HEADER}"
            "-DNAMESPACE=${ARG_NAMESPACE}" "-DFUNCTION=${ARG_FUNCTION}" "-DLIST=${ARG_LIST}" -P "${EXPC_EMBED_SCRIPT}"
    DEPENDS ${_files} "${EXPC_EMBED_SCRIPT}"
    VERBATIM)
  add_library(${name} STATIC "${_generated}")
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}" "${_headers}")
endfunction()
