# The versions that tools/versions.env pins, as EXPC_NAME.
set(_versions_file "${CMAKE_CURRENT_LIST_DIR}/../tools/versions.env")
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${_versions_file}")
file(STRINGS "${_versions_file}" _versions REGEX "^[A-Z_]+=")
foreach(_line IN LISTS _versions)
  string(REGEX MATCH "^([A-Z_]+)=(.*)$" _ "${_line}")
  set(EXPC_${CMAKE_MATCH_1} "${CMAKE_MATCH_2}")
endforeach()
