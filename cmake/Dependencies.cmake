# Libraries from the distribution, as plain imported targets. tools/setup installs them.
include(Versions)

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(LibArchive REQUIRED)
find_package(Boost REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)

find_library(EXPC_TURBOJPEG turbojpeg REQUIRED)
find_path(EXPC_TURBOJPEG_INCLUDE turbojpeg.h REQUIRED)
add_library(expc_turbojpeg INTERFACE)
target_include_directories(expc_turbojpeg SYSTEM INTERFACE "${EXPC_TURBOJPEG_INCLUDE}")
target_link_libraries(expc_turbojpeg INTERFACE ${EXPC_TURBOJPEG})

# LLVM's ADT and Support only; its own CMake package would pull in every component.
set(EXPC_LLVM_ROOT "/usr/lib/llvm-${EXPC_LLVM_MAJOR}" CACHE PATH "LLVM prefix")
find_library(EXPC_LLVM_SUPPORT LLVMSupport PATHS "${EXPC_LLVM_ROOT}/lib" NO_DEFAULT_PATH REQUIRED)
find_library(EXPC_LLVM_DEMANGLE LLVMDemangle PATHS "${EXPC_LLVM_ROOT}/lib" NO_DEFAULT_PATH REQUIRED)
find_library(EXPC_ZSTD zstd REQUIRED)
find_library(EXPC_TINFO tinfo REQUIRED)
add_library(expc_llvm INTERFACE)
target_include_directories(expc_llvm SYSTEM INTERFACE "${EXPC_LLVM_ROOT}/include")
target_link_libraries(expc_llvm INTERFACE ${EXPC_LLVM_SUPPORT} ${EXPC_LLVM_DEMANGLE} ZLIB::ZLIB ${EXPC_ZSTD} ${EXPC_TINFO} Threads::Threads ${CMAKE_DL_LIBS} expc_random)

find_library(EXPC_HWLOC hwloc REQUIRED)
include(Antlr)
# What the metrics of commands are read with.
find_library(EXPC_PCRE2 pcre2-8 REQUIRED)
find_library(EXPC_CSV csv REQUIRED)
add_library(expc_pcre2 INTERFACE)
target_link_libraries(expc_pcre2 INTERFACE ${EXPC_PCRE2})
add_library(expc_csv INTERFACE)
target_link_libraries(expc_csv INTERFACE ${EXPC_CSV})
