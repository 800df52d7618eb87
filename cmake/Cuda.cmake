# CUDA from the wheels that tools/setup has put into .deps, never from a toolkit of the machine: a user has none, and its versions are not
# those of LibTorch. nullgpu/, configured alone, includes it as well.
#   EXPC_CUDA_FOUND    whether all is there that the CUDA worker is compiled with (tools/setup --cuda or --gpu): every header, and nvcc
#   EXPC_CUDA_INCLUDE  the folders of the headers
#   expc_cuda_headers  the same as a target
#   expc_cuda_kernels  a function that compiles .cu files into a library
#   expc_cudart        with libcudart.so.13
#   expc_cupti         with libcupti.so.13, the one that libtorch_cpu itself needs: a process has one CUPTI
include_guard(GLOBAL)
include("${CMAKE_CURRENT_LIST_DIR}/Versions.cmake")

get_filename_component(_deps "${CMAKE_CURRENT_LIST_DIR}/../.deps" ABSOLUTE)
file(GLOB _nvidia "${_deps}/python/lib/python3*/site-packages/nvidia")
# Beside torch are the small wheels and those of a machine with GPUs; of the others' large wheels only the headers are kept, in a folder of their own.
set(EXPC_CUDA_INCLUDE "${_nvidia}/cu13/include")
foreach(_folder "${_nvidia}/nccl/include" "${_deps}/cuda/include")
  if(EXISTS "${_folder}")
    list(APPEND EXPC_CUDA_INCLUDE "${_folder}")
  endif()
endforeach()

# expc_cuda_folder(VARIABLE HEADER): the folder that has it, or VARIABLE-NOTFOUND.
function(expc_cuda_folder variable header)
  unset(_place)
  find_path(_place "${header}" PATHS ${EXPC_CUDA_INCLUDE} NO_DEFAULT_PATH NO_CACHE)
  set(${variable} "${_place}" PARENT_SCOPE)
endfunction()

# In every set-up: cuda_runtime_api.h wants crt, cuda_fp16.h wants nv/target.
foreach(_header cuda_runtime_api.h crt/host_defines.h nv/target nvml.h nvtx3/nvToolsExt.h cupti.h)
  expc_cuda_folder(_folder "${_header}")
  if(NOT _folder)
    message(FATAL_ERROR "CUDA's header ${_header} is not in ${_deps}. Run tools/setup.")
  endif()
endforeach()
set(EXPC_CUDA_FOUND TRUE)
foreach(_header cublas_v2.h cublasLt.h cusolverDn.h cusparse.h nccl.h)
  expc_cuda_folder(_folder "${_header}")
  if(NOT _folder)
    set(EXPC_CUDA_FOUND FALSE)
  endif()
endforeach()
set(EXPC_NVCC "${_nvidia}/cu13/bin/nvcc")
if(NOT EXISTS "${EXPC_NVCC}" OR NOT EXISTS "${_nvidia}/cu13/nvvm/bin/cicc")
  set(EXPC_CUDA_FOUND FALSE)
endif()
add_library(expc_cuda_headers INTERFACE)
target_include_directories(expc_cuda_headers SYSTEM INTERFACE ${EXPC_CUDA_INCLUDE})

# Libraries, not by their paths: CMake would order the run paths of several folders of wheels, and finds a cycle.
foreach(_library cudart cupti)
  add_library(expc_${_library} INTERFACE)
  target_link_options(expc_${_library} INTERFACE "-L${_nvidia}/cu13/lib" "LINKER:-rpath,${_nvidia}/cu13/lib")
  target_link_libraries(expc_${_library} INTERFACE expc_cuda_headers "-l:lib${_library}.so.13")
endforeach()

# ncclConfig_t grows with NCCL, and LibTorch was compiled with one version of it.
expc_cuda_folder(_folder nccl.h)
if(_folder)
  file(STRINGS "${_folder}/nccl.h" _lines REGEX "^#define NCCL_(MAJOR|MINOR|PATCH) [0-9]+")
  list(TRANSFORM _lines REPLACE "^#define NCCL_[A-Z]+ " "")
  list(JOIN _lines "." _version)
  if(NOT _version VERSION_EQUAL EXPC_NCCL_VERSION)
    message(FATAL_ERROR "${_folder}nccl.h is NCCL ${_version}, LibTorch ${EXPC_TORCH_VERSION} loads ${EXPC_NCCL_VERSION} "
                        "(tools/versions.env). Remove ${_deps} and run tools/setup --cuda (with a GPU: tools/setup).")
  endif()
endif()

# expc_cuda_kernels(TARGET FILE.cu...): kernels, which include no torch. nvcc is called as it is, beside CMake's language CUDA: that one looks for
# a toolkit, which a wheel is not, and the CMake of Debian 12 knows no CUDA 13. Machine code for the generations that LibTorch serves, and
# what the driver compiles itself for those to come. No products fused with sums: the kernels' arithmetic is the CPU's, bit for bit.
function(expc_cuda_kernels target)
  set(_flags -std=c++20 -O3 -DNDEBUG -fmad=false --threads 2 -Xcompiler=-Wall,-Wextra)
  foreach(_generation 75 80 90)
    list(APPEND _flags -gencode arch=compute_${_generation},code=sm_${_generation})
  endforeach()
  list(APPEND _flags "-gencode" "arch=compute_100,code=[sm_100,compute_100]")
  foreach(_file IN LISTS ARGN)
    set(_source "${CMAKE_CURRENT_SOURCE_DIR}/${_file}")
    string(REPLACE "/" "_" _name "${_file}")
    set(_object "${CMAKE_CURRENT_BINARY_DIR}/${_name}.o")
    file(RELATIVE_PATH _shown "${CMAKE_BINARY_DIR}" "${_object}")
    add_custom_command(OUTPUT "${_object}" DEPENDS "${_source}" "${EXPC_NVCC}" DEPFILE "${_object}.d"
      COMMAND "${EXPC_NVCC}" -ccbin "${CMAKE_CXX_COMPILER}" ${_flags} "-I${PROJECT_SOURCE_DIR}" -MD -MF "${_object}.d" -c "${_source}" -o "${_object}"
      COMMENT "Building CUDA object ${_shown}" VERBATIM)
    set_source_files_properties("${_object}" PROPERTIES EXTERNAL_OBJECT TRUE GENERATED TRUE)
    target_sources(${target} PRIVATE "${_object}")
  endforeach()
endfunction()
