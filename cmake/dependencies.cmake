# Every outside dependency, found once. Code links the names below and knows nothing of where they came from.
#
#   crope_torch     LibTorch: headers and libraries (-DTorch_ROOT=DIR, or the wheel in .deps)
#   crope_openmp    OpenMP: LibTorch's own threads
#   crope_fmt       fmt: the copy inside LibTorch, because a second one clashes with it
#   crope_json      nlohmann-json
#   crope_arrow     Arrow C++ with Parquet (-DArrow_ROOT=DIR, or the pyarrow wheel in .deps)
#   crope_cli11     CLI11
#   crope_pcre2     PCRE2 for 8-bit text
#   crope_utf8proc  case and classes of Unicode characters
#   crope_highway   SIMD with run-time dispatch
#   crope_c10d      the headers that LibTorch's c10d includes and does not bring: Gloo's, and NCCL's where there is CUDA
#   crope_boost     Boost, headers only: statistics; Asio and Beast for HTTP

find_package(OpenMP REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)

set(CROPE_DEPS "$ENV{CROPE_DEPS}" CACHE PATH "Folder of the virtual environment made by scripts/setup.sh")
if(NOT CROPE_DEPS)
  set(CROPE_DEPS "${PROJECT_SOURCE_DIR}/.deps")
endif()
file(GLOB _wheel_torch "${CROPE_DEPS}/venv/lib/python3*/site-packages/torch")

# crope_root(NAME ENVIRONMENT_VARIABLE HELP FOUND...): the cache entry NAME_ROOT. The environment variable sets it whenever it has
# changed, and another root forgets the entries FOUND in the old one.
function(crope_root name variable help)
  set(${name}_ROOT "$ENV{${variable}}" CACHE PATH "${help}")
  if(NOT "$ENV{${variable}}" STREQUAL "" AND NOT "$ENV{${variable}}" STREQUAL "${${name}_ENVIRONMENT_ROOT}")
    set(${name}_ROOT "$ENV{${variable}}" CACHE PATH "${help}" FORCE)
    set(${name}_ENVIRONMENT_ROOT "$ENV{${variable}}" CACHE INTERNAL "${variable} when it was last followed")
  endif()
  if(NOT "${${name}_ROOT}" STREQUAL "${${name}_SEARCHED_ROOT}")
    foreach(found ${ARGN})
      unset(${found} CACHE)
    endforeach()
    set(${name}_SEARCHED_ROOT "${${name}_ROOT}" CACHE INTERNAL "${name}_ROOT of the last search")
  endif()
endfunction()

# LibTorch's own CMake package stops without a CUDA toolkit when the wheel is a CUDA one, so the libraries are
# imported here by file: one way for every LibTorch.
crope_root(Torch TORCH_ROOT "LibTorch folder with include/ and lib/; empty takes the wheel in .deps"
  Torch_INCLUDE_DIR Torch_torch_LIBRARY Torch_torch_cpu_LIBRARY Torch_c10_LIBRARY Torch_torch_cuda_LIBRARY
  Torch_c10_cuda_LIBRARY)
set(_torch "${Torch_ROOT}")
if(NOT _torch)
  set(_torch "${_wheel_torch}")
endif()
find_path(Torch_INCLUDE_DIR ATen/ATen.h HINTS "${_torch}/include" NO_DEFAULT_PATH)
foreach(_name torch torch_cpu c10 torch_cuda c10_cuda)
  find_library(Torch_${_name}_LIBRARY ${_name} HINTS "${_torch}/lib" NO_DEFAULT_PATH)
endforeach()
if(NOT Torch_INCLUDE_DIR OR NOT Torch_torch_cpu_LIBRARY)
  message(FATAL_ERROR "LibTorch was not found in Torch_ROOT '${Torch_ROOT}', or, when that is empty, in '${CROPE_DEPS}/venv'.\n"
                      "Run scripts/setup.sh, or give -DTorch_ROOT=<folder with include/ and lib/>.")
endif()

add_library(crope_torch INTERFACE)
target_include_directories(crope_torch SYSTEM INTERFACE
  "${Torch_INCLUDE_DIR}" "${Torch_INCLUDE_DIR}/torch/csrc/api/include")
target_link_libraries(crope_torch INTERFACE
  "${Torch_torch_LIBRARY}" "${Torch_torch_cpu_LIBRARY}" "${Torch_c10_LIBRARY}" Threads::Threads)
# One OpenMP for LibTorch and our own loops (base/parallel, and at::parallel_for, which is inline): without it they would
# silently be serial, and with a library other than LibTorch's there would be two pools of threads. Wheels bring theirs.
get_filename_component(_torch_lib "${Torch_torch_cpu_LIBRARY}" DIRECTORY)
file(GLOB _torch_openmp "${_torch_lib}/libgomp*.so*" "${_torch_lib}/libiomp5.so")
add_library(crope_openmp INTERFACE)
# The code that clang makes of a parallel loop needs a library of its own: make fuzz, where nothing runs on LibTorch.
if(_torch_openmp AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(crope_openmp INTERFACE ${OpenMP_CXX_FLAGS})
  target_link_libraries(crope_openmp INTERFACE ${_torch_openmp})
else()
  target_link_libraries(crope_openmp INTERFACE OpenMP::OpenMP_CXX)
endif()
target_link_libraries(crope_torch INTERFACE crope_openmp)
if(Torch_torch_cuda_LIBRARY)
  # Nothing refers to the CUDA library by name: it registers its kernels when it is loaded.
  target_link_libraries(crope_torch INTERFACE
    "-Wl,--no-as-needed" "${Torch_torch_cuda_LIBRARY}" "${Torch_c10_cuda_LIBRARY}" "-Wl,--as-needed")
endif()

add_library(crope_fmt STATIC "${CMAKE_CURRENT_LIST_DIR}/fmt_library.cc")
target_include_directories(crope_fmt SYSTEM PUBLIC "${Torch_INCLUDE_DIR}")
target_compile_features(crope_fmt PUBLIC cxx_std_20)

add_library(crope_json INTERFACE)
target_link_libraries(crope_json INTERFACE nlohmann_json::nlohmann_json)

# The wheel carries headers and libraries, but neither CMake files nor names without a version.
crope_root(Arrow ARROW_ROOT "Arrow folder with include/ and lib/; empty takes the wheel in .deps"
  Arrow_INCLUDE_DIR Arrow_arrow_LIBRARY Arrow_parquet_LIBRARY)
file(GLOB _wheel_arrow "${CROPE_DEPS}/venv/lib/python3*/site-packages/pyarrow")
find_path(Arrow_INCLUDE_DIR parquet/arrow/reader.h HINTS "${Arrow_ROOT}/include" ${_wheel_arrow}/include NO_DEFAULT_PATH)
foreach(_name arrow parquet)
  file(GLOB _candidates "${Arrow_ROOT}/lib/lib${_name}.so.[0-9]*" "${_wheel_arrow}/lib${_name}.so.[0-9]*")
  list(TRANSFORM _candidates REPLACE "^.*/" "")
  find_library(Arrow_${_name}_LIBRARY NAMES ${_candidates} HINTS "${Arrow_ROOT}/lib" ${_wheel_arrow} NO_DEFAULT_PATH)
endforeach()
if(NOT Arrow_INCLUDE_DIR OR NOT Arrow_arrow_LIBRARY OR NOT Arrow_parquet_LIBRARY)
  message(FATAL_ERROR "Arrow with Parquet was not found in '${Arrow_ROOT}' or '${CROPE_DEPS}/venv'.\n"
                      "Run scripts/setup.sh, or give -DArrow_ROOT=<folder with include/ and lib/>.")
endif()
add_library(crope_arrow INTERFACE)
target_include_directories(crope_arrow SYSTEM INTERFACE "${Arrow_INCLUDE_DIR}")
target_link_libraries(crope_arrow INTERFACE "${Arrow_parquet_LIBRARY}" "${Arrow_arrow_LIBRARY}")

add_library(crope_cli11 INTERFACE)
target_link_libraries(crope_cli11 INTERFACE CLI11::CLI11)

find_path(Pcre2_INCLUDE_DIR pcre2.h)
find_library(Pcre2_LIBRARY pcre2-8)
if(NOT Pcre2_INCLUDE_DIR OR NOT Pcre2_LIBRARY)
  message(FATAL_ERROR "PCRE2 (pcre2.h, libpcre2-8) was not found. Run scripts/setup.sh, or install libpcre2-dev.")
endif()
add_library(crope_pcre2 INTERFACE)
target_include_directories(crope_pcre2 SYSTEM INTERFACE "${Pcre2_INCLUDE_DIR}")
target_link_libraries(crope_pcre2 INTERFACE "${Pcre2_LIBRARY}" Threads::Threads)

find_path(Utf8proc_INCLUDE_DIR utf8proc.h)
find_library(Utf8proc_LIBRARY utf8proc)
find_path(Highway_INCLUDE_DIR hwy/highway.h)
find_library(Highway_LIBRARY hwy)
if(NOT Utf8proc_INCLUDE_DIR OR NOT Utf8proc_LIBRARY OR NOT Highway_INCLUDE_DIR OR NOT Highway_LIBRARY)
  message(FATAL_ERROR "utf8proc or Highway was not found. Run scripts/setup.sh, or install libutf8proc-dev and libhwy-dev.")
endif()
add_library(crope_utf8proc INTERFACE)
target_include_directories(crope_utf8proc SYSTEM INTERFACE "${Utf8proc_INCLUDE_DIR}")
target_link_libraries(crope_utf8proc INTERFACE "${Utf8proc_LIBRARY}")
add_library(crope_highway INTERFACE)
target_include_directories(crope_highway SYSTEM INTERFACE "${Highway_INCLUDE_DIR}")
target_link_libraries(crope_highway INTERFACE "${Highway_LIBRARY}")

find_path(Boost_INCLUDE_DIR boost/math/distributions/students_t.hpp)
if(NOT Boost_INCLUDE_DIR)
  message(FATAL_ERROR "Boost's headers were not found. Run scripts/setup.sh, or install libboost1.81-dev.")
endif()
add_library(crope_boost INTERFACE)
target_include_directories(crope_boost SYSTEM INTERFACE "${Boost_INCLUDE_DIR}")
target_link_libraries(crope_boost INTERFACE Threads::Threads)

# LibTorch has Gloo inside, but not its headers. Nothing is linked: a second Gloo beside LibTorch's would be met half by
# half.
find_path(Gloo_INCLUDE_DIR gloo/context.h)
if(NOT Gloo_INCLUDE_DIR)
  message(FATAL_ERROR "Gloo's headers were not found. Run scripts/setup.sh, or install libgloo-dev.")
endif()
add_library(crope_c10d INTERFACE)
target_include_directories(crope_c10d SYSTEM INTERFACE "${Gloo_INCLUDE_DIR}")
# NCCL, between GPUs. CUDA's headers come with the wheels that a CUDA wheel of LibTorch brings, or with a toolkit, which may
# have some of them only: whether they are enough is tried.
set(CROPE_HAS_NCCL OFF)
if(Torch_torch_cuda_LIBRARY)
  get_filename_component(_packages "${Torch_INCLUDE_DIR}/../.." ABSOLUTE)
  file(GLOB _cuda_folders "${_packages}/nvidia/*/include" "${CROPE_DEPS}/venv/lib/python3*/site-packages/nvidia/*/include")
  foreach(_root "$ENV{CUDA_HOME}" "$ENV{CUDA_PATH}" /usr/local/cuda /opt/cuda /usr/lib/cuda)
    list(APPEND _cuda_folders "${_root}/include" "${_root}/targets/x86_64-linux/include" "${_root}/targets/sbsa-linux/include")
  endforeach()
  set(_cuda_includes)
  set(_cuda_missing)
  foreach(_header cuda_runtime_api.h crt/host_defines.h cublas_v2.h cusparse.h cusolverDn.h nv/target nccl.h)
    string(MAKE_C_IDENTIFIER "Cuda_${_header}_INCLUDE_DIR" _variable)
    unset(${_variable} CACHE)  # another LibTorch, or a toolkit installed since
    find_path(${_variable} ${_header} HINTS ${_cuda_folders} PATH_SUFFIXES cccl)
    mark_as_advanced(${_variable})
    if(${_variable})
      list(APPEND _cuda_includes "${${_variable}}")
    else()
      list(APPEND _cuda_missing ${_header})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES _cuda_includes)
  if(_cuda_missing)
    list(JOIN _cuda_missing ", " _cuda_missing)
    message(STATUS "NCCL is off, so several ranks cannot share GPUs: not found: ${_cuda_missing}. "
                   "Searched: wheels in ${_packages}/nvidia, CUDA_HOME, /usr/local/cuda and the system's include folders.")
  else()
    include(CheckCXXSourceCompiles)
    include(CMakePushCheckState)
    cmake_push_check_state(RESET)
    set(CMAKE_REQUIRED_INCLUDES "${Torch_INCLUDE_DIR}" "${Torch_INCLUDE_DIR}/torch/csrc/api/include" "${Gloo_INCLUDE_DIR}" ${_cuda_includes})
    set(CMAKE_CXX_STANDARD 20)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    if(NOT "${_cuda_includes}" STREQUAL "${CROPE_CUDA_INCLUDES}")
      unset(CROPE_NCCL_COMPILES CACHE)
    endif()
    set(CROPE_CUDA_INCLUDES "${_cuda_includes}" CACHE INTERNAL "CUDA's headers at the last try")
    check_cxx_source_compiles("#define USE_C10D_NCCL
      #include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
      int rank(const c10d::ProcessGroupNCCL& group) { return group.getRank(); }" CROPE_NCCL_COMPILES)
    unset(CMAKE_TRY_COMPILE_TARGET_TYPE)
    unset(CMAKE_CXX_STANDARD)
    cmake_pop_check_state()
    if(CROPE_NCCL_COMPILES)
      target_include_directories(crope_c10d SYSTEM INTERFACE ${_cuda_includes})
      set(CROPE_HAS_NCCL ON)
    else()
      message(STATUS "NCCL is off, so several ranks cannot share GPUs: LibTorch's ProcessGroupNCCL.hpp does not compile with "
                     "the CUDA headers in ${_cuda_includes}. A toolkit of another version, or in part?")
    endif()
  endif()
endif()
set(CROPE_HAS_NCCL "${CROPE_HAS_NCCL}" CACHE INTERNAL "Whether ranks can share GPUs")
