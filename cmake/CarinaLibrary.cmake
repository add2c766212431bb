# One CMake target per library: it links only what it may include (libraries.toml says the same to the include checker).

option(CARINA_WARNINGS_ARE_ERRORS "Off where others compile it: their compilers warn of other things" ON)
add_library(carina_warnings INTERFACE)
target_compile_options(carina_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CARINA_WARNINGS_ARE_ERRORS}>:-Werror> $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wconversion
  -Wno-sign-conversion -Wmissing-field-initializers -Wswitch -Wnon-virtual-dtor -Woverloaded-virtual)

# libstdc++ 12's stable_sort uses what it deprecates itself.
target_compile_options(carina_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)

# The options that every target of ours shares; not those of libraries.
function(carina_target target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:carina_warnings>)
  if(CARINA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PUBLIC -fsanitize=address,undefined)
  endif()
  if(CARINA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()

# With CARINA_UNITY, files of a target are compiled eight at a time as one: headers are most of the work, so a build from scratch
# takes half the time. SEPARATE are the files that stay alone, because others in the target have names of theirs. What includes
# miss shows without it (presets tidy and fuzz).
function(carina_unity target)
  cmake_parse_arguments(UNITY "" "" "SEPARATE" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${CARINA_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  set_source_files_properties(${UNITY_SEPARATE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(CARINA_UNITY)  # an anonymous namespace is taken for a header's there
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

# The lines of libraries.toml, `name = ["seen", "seen"]`: the one place that says which libraries there are and who sees whom.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS libraries.toml)
file(STRINGS ${PROJECT_SOURCE_DIR}/libraries.toml CARINA_LIBRARY_LINES REGEX "^[a-z0-9_]+ = \\[.*\\]$")
set(CARINA_LIBRARIES "")
foreach(line IN LISTS CARINA_LIBRARY_LINES)
  string(REGEX MATCH "^[a-z0-9_]+" library "${line}")
  string(REGEX MATCHALL "[a-z0-9_*]+" CARINA_SEEN_BY_${library} "${line}")
  list(POP_FRONT CARINA_SEEN_BY_${library})
  list(APPEND CARINA_LIBRARIES ${library})
endforeach()

# carina_library(NAME LIBS library... PRIVATE_LIBS library...): a static library of all src/NAME/*.cpp that links what libraries.toml lets
# it see.
function(carina_library name)
  cmake_parse_arguments(LIBRARY "" "" "LIBS;PRIVATE_LIBS" ${ARGN})
  if(LIBRARY_UNPARSED_ARGUMENTS OR NOT name IN_LIST CARINA_LIBRARIES)
    message(FATAL_ERROR "carina_library(${name}): what it sees stands in libraries.toml, on one line")
  endif()
  set(LIBRARY_SEES ${CARINA_SEEN_BY_${name}})
  if(LIBRARY_SEES STREQUAL "*")
    set(LIBRARY_SEES ${CARINA_LIBRARIES})
    list(REMOVE_ITEM LIBRARY_SEES ${name} carina interop native firmware)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  list(TRANSFORM LIBRARY_SEES PREPEND carina_)
  if(NOT sources)  # headers only
    add_library(carina_${name} INTERFACE)
    target_include_directories(carina_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
    target_link_libraries(carina_${name} INTERFACE ${LIBRARY_SEES} ${LIBRARY_LIBS})
    return()
  endif()
  add_library(carina_${name} STATIC ${sources})
  carina_target(carina_${name})
  # Formats are headers that the build makes: nothing of them is installed.
  list(TRANSFORM LIBRARY_PRIVATE_LIBS REPLACE "^(carina_.*_format)$" "$<BUILD_INTERFACE:\\1>")
  target_include_directories(carina_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  target_link_libraries(carina_${name} PUBLIC ${LIBRARY_SEES} ${LIBRARY_LIBS} PRIVATE ${LIBRARY_PRIVATE_LIBS})
endfunction()

# carina_test(NAME SOURCES file... SEES library... LIBS library...): a GoogleTest program, one ctest entry per test case.
function(carina_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;SEES;LIBS" ${ARGN})
  add_executable(${name} ${TEST_SOURCES})
  carina_target(${name})
  list(TRANSFORM TEST_SEES PREPEND carina_)
  target_link_libraries(${name} PRIVATE ${TEST_SEES} ${TEST_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE CARINA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120)
endfunction()
