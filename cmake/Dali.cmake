# NVIDIA DALI's C API from its PyPI wheel (tools/setup --dali), for the loader `dali`. Only headers are used here: its libraries are
# opened by a trial that asks for them.
#   EXPC_DALI_FOUND   whether there is one of the pinned version
#   expc_dali         its headers
#   EXPC_DALI_FOLDER  where its libraries are, as seen from the programs: no path of this machine is in them

include(Cuda)
option(EXPC_DALI "Build the loader dali where tools/setup --dali has installed NVIDIA DALI" ON)
set(EXPC_DALI_FOUND FALSE)
file(GLOB _site "${PROJECT_SOURCE_DIR}/.deps/python/lib/python3*/site-packages")
set(EXPC_DALI_SITE "${_site}" CACHE PATH "The site-packages folder that holds nvidia/dali")
file(GLOB _pinned "${EXPC_DALI_SITE}/nvidia_dali_cuda*-${EXPC_DALI_VERSION}.dist-info")
if(NOT EXPC_DALI)
  message(STATUS "Loader dali: off")
elseif(_pinned AND EXISTS "${EXPC_DALI_SITE}/nvidia/dali/include/dali/dali.h")
  set(EXPC_DALI_FOUND TRUE)
  message(STATUS "Loader dali: NVIDIA DALI ${EXPC_DALI_VERSION}")
  add_library(expc_dali INTERFACE)
  target_include_directories(expc_dali SYSTEM INTERFACE "${EXPC_DALI_SITE}/nvidia/dali/include")
  target_link_libraries(expc_dali INTERFACE expc_cuda_headers)
  file(RELATIVE_PATH EXPC_DALI_FOLDER "${CMAKE_BINARY_DIR}/bin" "${EXPC_DALI_SITE}/nvidia/dali")
else()
  message(STATUS "Loader dali: NVIDIA DALI ${EXPC_DALI_VERSION} is not installed (tools/setup --dali); built without it")
endif()
