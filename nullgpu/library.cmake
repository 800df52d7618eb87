# Builds the libraries of the null GPU, one per folder: `nullgpu_library(NAME ...)` in a folder's CMakeLists.txt takes every .cpp beside it, and
# *_test.cpp for a doctest program nullgpu_NAME_test that links the library.
#
#   nullgpu_library(NAME FILE libcudart.so.13 [CUDA12 libcudart.so.12] EXPORTS cuda* __cuda* [SUCCEED function...] [ANSWER header...] [DEPS target...])
#     Replaces one of NVIDIA's libraries. FILE is its name and soname; EXPORTS are the only names visible from outside. A symbol that torch needs
#     and no source here defines becomes a stub that ends the process (nullgpu/stubs). Symbols get the version that torch asks for.
#     CUDA12 is its name in CUDA 12, if that is another one. The functions are then in libnullgpu_NAME.so, without versions, which the
#     loader accepts for any version; libraries without code have the two names.
#     SUCCEED lists functions that do nothing and return 0, which means success in all of these interfaces.
#     ANSWER lists headers of CUDA whose functions need no stub: core/answer.h answers them by the types of their parameters.
#   nullgpu_library(NAME FILE libnullgpu.so [DEPS target...])
#     Without EXPORTS it is a library of our own: everything is visible, and there are no stubs.
#
# The target is nullgpu_NAME; the library goes to lib/nullgpu in the build folder.
find_program(NULLGPU_PYTHON python3 HINTS /usr/bin NO_DEFAULT_PATH REQUIRED)
set(NULLGPU_ROOT "${CMAKE_CURRENT_LIST_DIR}")
set(NULLGPU_OUT "${CMAKE_BINARY_DIR}/lib/nullgpu")
set(NULLGPU_STUBS_TOOL "${NULLGPU_ROOT}/stubs/stubs.py")
# The symbols that torch needs, written by nullgpu/stubs.
set(NULLGPU_DEMAND "${CMAKE_BINARY_DIR}/nullgpu/demand.json")
# The symbols that torch for CUDA 12 needs. The target nullgpu_cuda12_demand writes the file again.
set(NULLGPU_DEMAND_CUDA12 "${NULLGPU_ROOT}/stubs/cuda12.json")

if(EXPC_TESTS)
  file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/nullgpu/doctest_main.cpp" CONTENT "#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN\n#include <doctest/doctest.h>\n")
  add_library(nullgpu_doctest_main OBJECT "${CMAKE_BINARY_DIR}/nullgpu/doctest_main.cpp")
  target_compile_options(nullgpu_doctest_main PRIVATE $<$<CONFIG:Release>:-O1>)
endif()

# Puts the library `target` beside the others, and lets them find each other there wherever the folder is moved.
function(nullgpu_place target file)
  set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME "${file}" SUFFIX "" LIBRARY_OUTPUT_DIRECTORY "${NULLGPU_OUT}"
                                             BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")
  target_link_options(${target} PRIVATE "LINKER:--enable-new-dtags" "LINKER:--no-undefined")
endfunction()

# Makes the library `file` without code, which has the symbol version of that name and leads to the functions of `target`.
function(nullgpu_facade target file)
  set(_script "${CMAKE_CURRENT_BINARY_DIR}/${file}.map")
  file(CONFIGURE OUTPUT "${_script}" CONTENT "${file} { };\n")
  add_library(nullgpu_${file} SHARED "${NULLGPU_ROOT}/preload/preload.cpp")
  nullgpu_place(nullgpu_${file} ${file})
  target_link_options(nullgpu_${file} PRIVATE "LINKER:--version-script=${_script}")
  target_link_libraries(nullgpu_${file} PRIVATE -Wl,--no-as-needed ${target})
  set_property(GLOBAL APPEND PROPERTY NULLGPU_STANDINS nullgpu_${file})
endfunction()

# Generates the stubs (a .cpp) and the version script of `file`, from the symbols that torch needs and those that the objects define.
function(nullgpu_stubs target name file cuda12 exports objects succeed headers)
  set(_stubs "${CMAKE_CURRENT_BINARY_DIR}/${name}_stubs.cpp")
  set(_script "${CMAKE_CURRENT_BINARY_DIR}/${name}.map")
  add_custom_command(
    OUTPUT "${_stubs}" "${_script}"
    COMMAND ${NULLGPU_PYTHON} "${NULLGPU_STUBS_TOOL}" stubs --demand "${NULLGPU_DEMAND}" "${NULLGPU_DEMAND_CUDA12}" --library ${file} ${cuda12}
            --folder "nullgpu/${name}" --exports ${exports} --source "${_stubs}" --script "${_script}" --objects ${objects} --succeed ${succeed}
            --headers ${headers}
    DEPENDS "${NULLGPU_DEMAND}" "${NULLGPU_DEMAND_CUDA12}" "${NULLGPU_STUBS_TOOL}" ${objects}
    COMMENT "Stubs of ${file}" COMMAND_EXPAND_LISTS VERBATIM)
  target_sources(${target} PRIVATE "${_stubs}" "${_script}")
  target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1>)  # stubs compute nothing
  target_link_options(${target} PRIVATE "LINKER:--version-script=${_script}")
  set_target_properties(${target} PROPERTIES LINK_DEPENDS "${_script}")
  add_dependencies(${target} nullgpu_demand)
  set_property(GLOBAL APPEND PROPERTY NULLGPU_FAMILIES "${file}:${exports}")
  if(cuda12)
    set_property(GLOBAL APPEND PROPERTY NULLGPU_FAMILIES_CUDA12 "${cuda12}:${exports}")
    nullgpu_facade(${target} ${file})
    nullgpu_facade(${target} ${cuda12})
  else()
    set_property(GLOBAL APPEND PROPERTY NULLGPU_FAMILIES_CUDA12 "${file}:${exports}")
    set_property(GLOBAL APPEND PROPERTY NULLGPU_STANDINS ${target})
  endif()
endfunction()

function(nullgpu_library name)
  cmake_parse_arguments(ARG "" "FILE;CUDA12" "EXPORTS;SUCCEED;ANSWER;DEPS" ${ARGN})
  set(_target nullgpu_${name})
  file(GLOB _sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  set(_tests ${_sources})
  list(FILTER _sources EXCLUDE REGEX "_test\\.cpp$")
  list(FILTER _tests INCLUDE REGEX "_test\\.cpp$")
  if(NOT ARG_EXPORTS)
    add_library(${_target} SHARED ${_sources})
    set(_compiled ${_target})
  else()
    list(APPEND ARG_DEPS nullgpu_core)
    add_library(${_target} SHARED)
    set(_objects "")
    set(_compiled ${_target})
    if(_sources)
      add_library(${_target}_objects OBJECT ${_sources})
      target_sources(${_target} PRIVATE $<TARGET_OBJECTS:${_target}_objects>)
      target_link_libraries(${_target}_objects PUBLIC ${ARG_DEPS})
      set(_objects $<TARGET_OBJECTS:${_target}_objects>)
      set(_compiled ${_target}_objects)
    endif()
    string(REPLACE ";" "," _exports "${ARG_EXPORTS}")
    set(_headers "")
    foreach(_header IN LISTS ARG_ANSWER)
      find_file(NULLGPU_${_header} ${_header} PATHS ${EXPC_CUDA_INCLUDE} NO_DEFAULT_PATH REQUIRED)
      list(APPEND _headers "${NULLGPU_${_header}}")
    endforeach()
    nullgpu_stubs(${_target} ${name} ${ARG_FILE} "${ARG_CUDA12}" "${_exports}" "${_objects}" "${ARG_SUCCEED}" "${_headers}")
  endif()
  # A unique symbol would keep a library loaded after dlclose, and expc opens NVML's again with other variables.
  target_compile_options(${_compiled} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-fno-gnu-unique>)
  expc_joined(${_compiled})
  foreach(_each IN LISTS _target _compiled)
    target_include_directories(${_each} PUBLIC "${NULLGPU_ROOT}/..")
    target_include_directories(${_each} SYSTEM PUBLIC ${EXPC_CUDA_INCLUDE})
  endforeach()
  target_link_libraries(${_target} PUBLIC ${ARG_DEPS})
  if(ARG_CUDA12)
    set(ARG_FILE libnullgpu_${name}.so)
  endif()
  nullgpu_place(${_target} ${ARG_FILE})
  if(EXPC_TESTS AND _tests)
    add_executable(${_target}_test ${_tests})
    expc_joined(${_target}_test)
    target_compile_options(${_target}_test PRIVATE $<$<CONFIG:Release>:-O0>)
    target_link_libraries(${_target}_test PRIVATE ${_target} nullgpu_doctest_main)
    add_test(NAME unit.${_target} COMMAND ${_target}_test)
    set_tests_properties(unit.${_target} PROPERTIES TIMEOUT 300)
  endif()
endfunction()
