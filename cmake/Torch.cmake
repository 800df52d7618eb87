# LibTorch from its PyPI wheel as a plain imported target: its own TorchConfig.cmake wants a CUDA toolkit on every machine.
#   expc_torch       headers, libtorch_cpu and libc10; never a CUDA library
#   expc_torch_cuda  the same with libtorch_cuda and libc10_cuda (only with EXPC_CUDA)

file(GLOB _found "${PROJECT_SOURCE_DIR}/.deps/python/lib/python3*/site-packages/torch")
list(LENGTH _found _count)
if(Torch_DIR)
  # As other projects are told where torch is: the folder share/cmake/Torch of the package.
  get_filename_component(_default "${Torch_DIR}/../../.." ABSOLUTE)
elseif(_count EQUAL 1)
  set(_default "${_found}")
else()
  set(_default "")
endif()
set(EXPC_TORCH_ROOT "${_default}" CACHE PATH "The installed `torch` package: the folder with include/ and lib/")
if(NOT EXISTS "${EXPC_TORCH_ROOT}/lib/libtorch_cpu.so")
  message(FATAL_ERROR "LibTorch is not at '${EXPC_TORCH_ROOT}'. Run tools/setup, or name another with -DTorch_DIR=TORCH/share/cmake/Torch, or configure without the "
                      "worker: -DEXPC_WORKER=OFF")
endif()
file(STRINGS "${EXPC_TORCH_ROOT}/version.py" _line REGEX "^__version__ = ")
string(REGEX REPLACE "^__version__ = '([0-9.]+).*" "\\1" EXPC_TORCH_FOUND "${_line}")
if(NOT EXPC_TORCH_FOUND VERSION_EQUAL EXPC_TORCH_VERSION)
  message(FATAL_ERROR "LibTorch ${EXPC_TORCH_FOUND} is at ${EXPC_TORCH_ROOT}, tools/versions.env pins ${EXPC_TORCH_VERSION}. Run tools/setup.")
endif()

# The wheel's libstdc++ ABI, read from what it exports rather than assumed.
if(NOT DEFINED EXPC_TORCH_CXX11_ABI)
  execute_process(COMMAND nm -D "${EXPC_TORCH_ROOT}/lib/libc10.so" OUTPUT_VARIABLE _symbols)
  string(FIND "${_symbols}" "__cxx11" _at)
  if(_at EQUAL -1)
    set(_abi 0)
  else()
    set(_abi 1)
  endif()
  set(EXPC_TORCH_CXX11_ABI ${_abi} CACHE INTERNAL "")
endif()
if(NOT EXPC_TORCH_CXX11_ABI EQUAL 1)
  message(FATAL_ERROR "This LibTorch was built with the old C++ ABI, the system libraries with the new one. Install the wheel that "
                      "tools/versions.env names.")
endif()

add_library(expc_torch INTERFACE)
target_include_directories(expc_torch SYSTEM INTERFACE "${EXPC_TORCH_ROOT}/include"
                                                       "${EXPC_TORCH_ROOT}/include/torch/csrc/api/include")
# The wheel carries its own fmt headers, another version than Debian's library: used from the header they cannot be mixed up.
target_compile_definitions(expc_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO FMT_HEADER_ONLY=1)
# GCC's names for templates like TensorBase::const_data_ptr, which clang has changed since.
target_compile_options(expc_torch INTERFACE $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fclang-abi-compat=17>)
# By path and with --no-as-needed: operators register themselves from static objects, nothing refers to them.
target_link_options(expc_torch INTERFACE "LINKER:-rpath,${EXPC_TORCH_ROOT}/lib")
target_link_libraries(expc_torch INTERFACE -Wl,--no-as-needed "${EXPC_TORCH_ROOT}/lib/libtorch_cpu.so"
                                           "${EXPC_TORCH_ROOT}/lib/libc10.so" -Wl,--as-needed Threads::Threads)

# at::parallel_for is a plain loop in what is compiled without OpenMP. torch's own libgomp serves both: two would have a team each.
# Clang would bring its own (libomp), so what it builds, fuzzers and reports of clang-tidy, has plain loops.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(expc_torch INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fopenmp>)
  target_link_libraries(expc_torch INTERFACE "${EXPC_TORCH_ROOT}/lib/libgomp.so.1")
endif()

if(EXPC_CUDA)
  add_library(expc_torch_cuda INTERFACE)
  target_compile_definitions(expc_torch_cuda INTERFACE USE_C10D_NCCL)
  # libtorch_cuda itself needs cuDNN, NCCL and more, which the machine that runs it has; linking must not ask for them here.
  target_link_libraries(expc_torch_cuda INTERFACE expc_torch expc_cuda_headers -Wl,--no-as-needed "${EXPC_TORCH_ROOT}/lib/libtorch_cuda.so"
                                                  "${EXPC_TORCH_ROOT}/lib/libc10_cuda.so" expc_cudart -Wl,--as-needed)
  target_link_options(expc_torch_cuda INTERFACE LINKER:--unresolved-symbols=ignore-in-shared-libs)
endif()
