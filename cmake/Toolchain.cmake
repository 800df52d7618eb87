# Compiler flags, ccache, mold and joined files: what every target shares.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

add_compile_options(-Wall -Wextra -Wno-unused-parameter -Wno-missing-field-initializers -fdiagnostics-color=auto)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # LLVM 19 headers and joins of strings trip these in GCC 12 with optimisation on.
  add_compile_options(-Wno-maybe-uninitialized -Wno-dangling-pointer -Wno-stringop-overflow -Wno-restrict)
  # GCC spends a tenth of its time on garbage collection. With 4 GB for each core it first collects at 2 GiB; objects stay equal.
  cmake_host_system_information(RESULT _memory QUERY TOTAL_PHYSICAL_MEMORY)
  cmake_host_system_information(RESULT _cores QUERY NUMBER_OF_LOGICAL_CORES)
  math(EXPR _megabytes_each "${_memory} / ${_cores}")
  if(_megabytes_each GREATER 3800)
    add_compile_options(--param=ggc-min-heapsize=1048576)
  endif()
  # Where .deps is a link, GCC would name headers by what it leads to, and ccache would give objects that depend on these to other clones.
  add_compile_options(-fno-canonical-system-headers)
endif()

# Paths below the sources are looked up as relative ones, so that another clone finds what this one compiled.
find_program(EXPC_CCACHE ccache)
if(EXPC_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_ABSSTDERR=1 ${EXPC_CCACHE})
endif()

find_program(EXPC_MOLD mold)
if(EXPC_MOLD)
  # GCC 12 and clang both take this; mold links the worker in well under a second.
  add_link_options(-fuse-ld=mold)
endif()

set(EXPC_SANITIZE "" CACHE STRING "Sanitizers for every target, e.g. address,undefined")
if(EXPC_SANITIZE)
  add_compile_options(-fsanitize=${EXPC_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  add_link_options(-fsanitize=${EXPC_SANITIZE})
endif()
if(EXPC_SANITIZE MATCHES "undefined")
  # LLVM's libraries have no run-time type information, which this check reads.
  add_compile_options(-fno-sanitize=vptr)
endif()
if(EXPC_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

option(EXPC_UNITY "Compile up to 17 files of a library or of its tests at once, which takes a third of the time of a cold build" ON)

# expc_joined(TARGET): files of a target are compiled together, since they share what they include and what templates make of it, which
# takes longer than their own lines. CMake's own joined files name sources by absolute paths, so that a compiler cache would find
# nothing of what another clone compiled. What the folder says later of the target and its files counts as well.
function(expc_joined target)
  if(EXPC_UNITY)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL expc_join_now ${target})")
  endif()
endfunction()

function(expc_join_now target)
  get_target_property(_sources ${target} SOURCES)
  set(_alone ${_sources})
  list(FILTER _sources INCLUDE REGEX "\\.cpp$")
  list(FILTER _alone EXCLUDE REGEX "\\.cpp$")
  foreach(_source IN LISTS _sources)
    foreach(_property COMPILE_OPTIONS COMPILE_DEFINITIONS SKIP_PRECOMPILE_HEADERS)
      get_source_file_property(_own "${_source}" ${_property})
      if(_own)
        list(APPEND _alone "${_source}")
      endif()
    endforeach()
  endforeach()
  list(REMOVE_ITEM _sources ${_alone})
  set(_joined "")
  while(_sources)
    list(SUBLIST _sources 0 17 _part)
    list(REMOVE_ITEM _sources ${_part})
    set(_text "")
    foreach(_source IN LISTS _part)
      cmake_path(ABSOLUTE_PATH _source BASE_DIRECTORY "${CMAKE_CURRENT_SOURCE_DIR}")
      cmake_path(RELATIVE_PATH _source BASE_DIRECTORY "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/..")
      string(APPEND _text "#include \"${_source}\"\n")
    endforeach()
    list(LENGTH _joined _number)
    set(_file "${CMAKE_CURRENT_BINARY_DIR}/${target}_${_number}.cpp")
    file(CONFIGURE OUTPUT "${_file}" CONTENT "${_text}")
    list(APPEND _joined "${_file}")
  endwhile()
  list(APPEND _joined ${_alone})
  set_target_properties(${target} PROPERTIES SOURCES "${_joined}")
endfunction()
