# Apache Arrow's Parquet library from the PyPI wheel of pyarrow (tools/setup), for `expc export --format parquet`.
#   EXPC_ARROW_FOUND  whether there is one of the pinned version
#   expc_arrow        its headers, and the two of its libraries that a writer needs
set(EXPC_ARROW_FOUND FALSE)
file(GLOB _site "${PROJECT_SOURCE_DIR}/.deps/python/lib/python3*/site-packages")
file(GLOB _pinned "${_site}/pyarrow-${EXPC_PYARROW_VERSION}.dist-info")
file(GLOB _libraries "${_site}/pyarrow/libarrow.so.*00" "${_site}/pyarrow/libparquet.so.*00")
list(LENGTH _libraries _count)
if(_pinned AND _count EQUAL 2)
  set(EXPC_ARROW_FOUND TRUE)
  message(STATUS "Parquet: Arrow of pyarrow ${EXPC_PYARROW_VERSION}")
  add_library(expc_arrow INTERFACE)
  target_include_directories(expc_arrow SYSTEM INTERFACE "${_site}/pyarrow/include")
  target_link_libraries(expc_arrow INTERFACE ${_libraries})
else()
  message(STATUS "Parquet: pyarrow ${EXPC_PYARROW_VERSION} is not installed (tools/setup); exports are written without it")
endif()
