# CUDA from the wheels that tools/setup has put into .deps, never from a toolkit of the machine: a user has none, and its versions are not
# those of LibTorch. nullgpu/, configured alone, includes it as well.
#   EXPC_CUDA_FOUND    whether every header is there that the CUDA worker is compiled with (tools/setup --cuda or --gpu)
#   EXPC_CUDA_INCLUDE  the folders of the headers
#   expc_cuda_headers  the same as a target
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
