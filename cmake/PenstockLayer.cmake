# Adds one target for each layer. A layer's include root contains two folders: its own, as <LAYER/...>, and its public
# headers, as <penstock/NAME.hpp>; penstock/layers.txt lists them. Roots of lower layers come with the targets that it
# USES, so an include of a higher layer finds no file.

# -Wno-restrict: GCC 12 reports string concatenation at -O3 where nothing overlaps (GCC bug 105651).
add_library(penstock_options INTERFACE)
target_compile_features(penstock_options INTERFACE cxx_std_20)
target_compile_options(penstock_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
  $<$<BOOL:${PENSTOCK_WARNINGS_AS_ERRORS}>:-Werror>)
if(PENSTOCK_SANITIZER)
  target_compile_options(penstock_options INTERFACE
    -fsanitize=${PENSTOCK_SANITIZER} -fno-omit-frame-pointer)
  if(PENSTOCK_SANITIZER MATCHES undefined)
    target_compile_options(penstock_options INTERFACE -fno-sanitize-recover=undefined)
  endif()
  if(PENSTOCK_SANITIZER MATCHES "address|undefined")  # GCC 12 warns of paths that only its checks make
    target_compile_options(penstock_options INTERFACE
      $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-maybe-uninitialized -Wno-stringop-overflow -Wno-stringop-overread>)
  endif()
  target_link_options(penstock_options INTERFACE -fsanitize=${PENSTOCK_SANITIZER})
endif()
if(PENSTOCK_BUILD_FUZZERS)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    message(FATAL_ERROR "PENSTOCK_BUILD_FUZZERS needs clang, not ${CMAKE_CXX_COMPILER_ID}")
  endif()
  # The last definition is the one that fuzzed libraries agree on: checksums over metadata are read and not compared.
  target_compile_options(penstock_options INTERFACE
    -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(penstock_options INTERFACE -fsanitize=fuzzer-no-link,address,undefined)
  target_compile_definitions(penstock_options INTERFACE FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION)
endif()

# penstock_include_root(NAME PATH): makes an include root in which <NAME/...> is PATH, and <penstock/...> the public
# headers of that layer. PATH lies at the root of the tree. Sets NAME_include_root.
get_filename_component(penstock_headers ${CMAKE_CURRENT_LIST_DIR}/../penstock ABSOLUTE)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${penstock_headers}/layers.txt)
function(penstock_include_root name path)
  set(root ${PROJECT_BINARY_DIR}/include_roots/${name})
  file(REMOVE_RECURSE ${root}/penstock)
  file(MAKE_DIRECTORY ${root}/penstock)
  file(CREATE_LINK ${path} ${root}/${name} SYMBOLIC)
  file(STRINGS ${penstock_headers}/layers.txt headers REGEX "^[a-z_]+ ${name}(/|$)")
  foreach(line IN LISTS headers)
    string(REGEX REPLACE " .*" ".hpp" header ${line})
    file(CREATE_LINK ${penstock_headers}/${header} ${root}/penstock/${header} SYMBOLIC)
  endforeach()
  set(${name}_include_root ${root} PARENT_SCOPE)
endfunction()

# penstock_unity(TARGET [ALONE file...]): compiles the target's sources several at a time, which takes a quarter of the
# time. ALONE: sources that stay units of their own, since they are compiled for several processors or names in them clash.
function(penstock_unity target)
  cmake_parse_arguments(UNITY "" "" "ALONE" ${ARGN})
  if(PENSTOCK_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    set_source_files_properties(${UNITY_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# penstock_precompile(TARGET header...): headers of others that nearly every source of the target includes are read once.
# ccache needs -fpch-preprocess to see through them.
function(penstock_precompile target)
  if(PENSTOCK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_precompile_headers(${target} PRIVATE ${ARGN})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()

# penstock_layer(NAME SOURCES file... [USES layer...] [PRIVATE library...] [ALONE file...])
function(penstock_layer name)
  cmake_parse_arguments(LAYER "" "" "SOURCES;USES;PRIVATE;ALONE" ${ARGN})
  penstock_include_root(${name} ${CMAKE_CURRENT_SOURCE_DIR})
  add_library(penstock_${name} OBJECT ${LAYER_SOURCES})
  add_library(penstock::${name} ALIAS penstock_${name})
  set_target_properties(penstock_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_include_directories(penstock_${name} PUBLIC $<BUILD_INTERFACE:${${name}_include_root}>)
  target_link_libraries(penstock_${name} PUBLIC ${LAYER_USES} PRIVATE $<BUILD_INTERFACE:penstock_options> ${LAYER_PRIVATE})
  penstock_unity(penstock_${name} ALONE ${LAYER_ALONE})
endfunction()
