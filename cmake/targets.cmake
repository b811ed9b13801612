# crope_layer(NAME [TORCH] [USES layer...] [LINKS library...])
#   The layer crope/NAME as a static library crope_NAME, with _ for / in a name. TORCH puts it above the Torch line: it
#   links LibTorch and shares one precompiled header, which turns 15 s of parsing a file into 2.
#
# crope_test(NAME [TORCH] [USES layer...] [LINKS library...])
#   tests/NAME/*_test.cc as one program NAME_test and one entry of ctest, likewise.
#
# crope_bench(NAME [USES layer...])
#   bench/NAME.cc as a Google Benchmark program.

add_library(crope_flags INTERFACE)
target_compile_features(crope_flags INTERFACE cxx_std_20)
target_include_directories(crope_flags INTERFACE "${PROJECT_SOURCE_DIR}")
target_compile_options(crope_flags INTERFACE -Wall -Wextra -Wno-missing-field-initializers -Werror=return-type)
if(CROPE_WARNINGS_ARE_ERRORS)
  target_compile_options(crope_flags INTERFACE -Werror)
endif()
if(CROPE_SANITIZE)
  # vptr needs type information that LibTorch does not export.
  target_compile_options(crope_flags INTERFACE
    -fsanitize=${CROPE_SANITIZE} -fno-sanitize=vptr -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(crope_flags INTERFACE -fsanitize=${CROPE_SANITIZE})
endif()

# The one precompiled header above the Torch line.
if(NOT EXISTS "${PROJECT_BINARY_DIR}/torch_header.cc")
  file(WRITE "${PROJECT_BINARY_DIR}/torch_header.cc" "")
endif()
set_source_files_properties("${PROJECT_BINARY_DIR}/torch_header.cc" PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
add_library(crope_torch_header STATIC "${PROJECT_BINARY_DIR}/torch_header.cc")
target_link_libraries(crope_torch_header PRIVATE crope_flags crope_fmt crope_json crope_torch)
target_precompile_headers(crope_torch_header PRIVATE
  <torch/types.h> <ATen/ATen.h> "${PROJECT_SOURCE_DIR}/crope/base/json.h" <fmt/format.h>)

function(crope_above_torch_line target)
  target_link_libraries(${target} PRIVATE crope_flags crope_fmt crope_json crope_torch)
  target_precompile_headers(${target} REUSE_FROM crope_torch_header)
endfunction()

# Kernels that Highway compiles once for each instruction set include themselves, and cannot share a batch.
function(crope_keep_kernels_apart sources)
  foreach(source ${sources})
    file(STRINGS "${source}" includes_itself REGEX "hwy/foreach_target.h")
    if(includes_itself)
      set_source_files_properties("${source}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

function(crope_layer name)
  cmake_parse_arguments(ARG "TORCH" "" "USES;LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/crope/${name}/*.cc")
  string(REPLACE "/" "_" name "${name}")
  add_library(crope_${name} STATIC ${sources})
  if(ARG_TORCH)
    crope_above_torch_line(crope_${name})
  endif()
  list(TRANSFORM ARG_USES PREPEND crope_)
  target_link_libraries(crope_${name} PUBLIC crope_flags crope_fmt ${ARG_USES} ${ARG_LINKS})
  crope_keep_kernels_apart("${sources}")
endfunction()

function(crope_test name)
  cmake_parse_arguments(ARG "TORCH" "" "USES;LINKS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${name}/*_test.cc")
  string(REPLACE "/" "_" name "${name}")
  add_executable(${name}_test ${sources})
  if(ARG_TORCH)
    crope_above_torch_line(${name}_test)
  endif()
  list(TRANSFORM ARG_USES PREPEND crope_)
  target_link_libraries(${name}_test PRIVATE crope_flags ${ARG_USES} ${ARG_LINKS} GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE CROPE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND ${name}_test)
endfunction()

function(crope_bench name)
  cmake_parse_arguments(ARG "" "" "USES" ${ARGN})
  add_executable(${name} "${PROJECT_SOURCE_DIR}/bench/${name}.cc")
  crope_above_torch_line(${name})
  list(TRANSFORM ARG_USES PREPEND crope_)
  target_link_libraries(${name} PRIVATE ${ARG_USES} benchmark::benchmark)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bench")
endfunction()
