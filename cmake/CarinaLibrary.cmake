# One CMake target per library. It links only the libraries that libraries.toml allows it to include.

option(CARINA_WARNINGS_ARE_ERRORS "Off where others compile it: their compilers warn of other things" ${PROJECT_IS_TOP_LEVEL})
add_library(carina_warnings INTERFACE)
target_compile_options(carina_warnings INTERFACE -Wall -Wextra -Wpedantic $<$<BOOL:${CARINA_WARNINGS_ARE_ERRORS}>:-Werror> $<$<CXX_COMPILER_ID:GNU>:-Wshadow=local> -Wconversion
  -Wno-sign-conversion -Wmissing-field-initializers -Wswitch -Wnon-virtual-dtor -Woverloaded-virtual)

# libstdc++ 12's stable_sort calls a function that libstdc++ deprecates.
target_compile_options(carina_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)

# There are many large programs with sanitizers, so they are linked with lld if it is installed.
if(CARINA_SANITIZE)
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld CARINA_HAS_LLD)
else()
  set(CARINA_TEST_OPTIONS $<$<CONFIG:Release>:-O1>)
endif()
# Debug builds are compiled with -O0, which halves the compile time. Kernels are not: tests spend most of their time in
# them, and without optimization Highway compiles fewer instruction sets than its library selects from.
set(CARINA_KERNEL_OPTIONS $<$<CONFIG:Debug>:-O1>)

# The options that all targets share, apart from those of libraries.
function(carina_options target)
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:carina_warnings>)
  # GCC starts to collect garbage at 128 MB, which takes 5 % of the time of a large chunk. A chunk needs up to 0.8 GB,
  # so the limit is raised to 1 GB.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=1048576>)
  # Archives and programs contain no path of the build: messages name files from src/ on. With a compiler cache the flag
  # is left out, since it would invalidate the objects in the cache.
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)
  endif()
  if(CARINA_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${CARINA_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_definitions(${target} PRIVATE CARINA_SANITIZED)
    if(CARINA_SANITIZE STREQUAL thread)
      target_compile_options(${target} PRIVATE -fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/tsan_ignore.txt)
    endif()
    target_link_options(${target} PUBLIC -fsanitize=${CARINA_SANITIZE} $<$<BOOL:${CARINA_HAS_LLD}>:-fuse-ld=lld>)
  endif()
  if(CARINA_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(CARINA_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage)
    target_link_options(${target} PUBLIC --coverage)
  endif()
endfunction()

# Compiles precompiled_<NAME>.h once. carina_target() makes the files of libraries use it.
function(carina_precompiled name)
  if(NOT CARINA_UNITY OR NOT CARINA_PCH)
    return()
  endif()
  add_library(carina_precompiled_${name} OBJECT ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled.cpp)
  carina_options(carina_precompiled_${name})
  target_link_libraries(carina_precompiled_${name} PRIVATE ${ARGN})
  target_precompile_headers(carina_precompiled_${name} PRIVATE ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/precompiled_${name}.h)
endfunction()

# carina_target(TARGET [CHUNK number] [PRECOMPILED name]): with CARINA_UNITY, CHUNK files of a target (default: eight)
# are compiled as one, with precompiled headers, since headers and common instantiations are most of the work. Without
# CARINA_UNITY (preset tidy) each file is compiled alone, which reveals missing includes. Precompiled headers alone save
# half a second per file and make the compiler cache useless. Larger source files would save the same time, but a
# newcomer finds code by the name of its file.
function(carina_target target)
  cmake_parse_arguments(TARGET "" "CHUNK;PRECOMPILED" "" ${ARGN})
  if(NOT TARGET_CHUNK)
    set(TARGET_CHUNK 8)
  endif()
  carina_options(${target})
  if(NOT CARINA_UNITY OR CARINA_FIRMWARE)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${TARGET_CHUNK})
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)  # an anonymous namespace seems a header's there
  if(TARGET_PRECOMPILED AND CARINA_PCH)
    target_compile_options(${target} PRIVATE -fPIC)  # programs, too, as the headers are compiled so
    target_link_libraries(${target} PRIVATE fmt::fmt)  # likewise
    target_precompile_headers(${target} REUSE_FROM carina_precompiled_${TARGET_PRECOMPILED})
  endif()
endfunction()

# carina_code_options(TARGET option...): adds options of code generation to a target. Such a target uses no precompiled
# headers: GCC would silently compile functions with the options of the precompiled headers.
function(carina_code_options target)
  target_compile_options(${target} PRIVATE ${CARINA_KERNEL_OPTIONS} ${ARGN})
  set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)
endfunction()

# Files that CARINA_UNITY compiles alone, because other files of the target define the same names.
function(carina_separate)
  foreach(file IN LISTS ARGN)
    if(NOT EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
      message(FATAL_ERROR "carina_separate(${file}): there is no such file")
    endif()
  endforeach()
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# libraries.toml lists the libraries and what each may include (`name = ["included", "included"]`), and the folders of
# libraries that are not in src/<name> (`name = "folder"`). A folder inside the folder of another library can be a
# library of its own.
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS libraries.toml)
file(STRINGS ${PROJECT_SOURCE_DIR}/libraries.toml CARINA_LIBRARY_LINES REGEX "^[a-z0-9_]+ = \\[.*\\]$")
file(STRINGS ${PROJECT_SOURCE_DIR}/libraries.toml CARINA_FOLDER_LINES REGEX "^[a-z0-9_]+ = \".*\"$")
file(STRINGS ${PROJECT_SOURCE_DIR}/libraries.toml CARINA_PUBLIC_LINES REGEX "^\"carina/.*\" = \".*\"$")
set(CARINA_LIBRARIES "")
foreach(line IN LISTS CARINA_LIBRARY_LINES)
  string(REGEX MATCH "^[a-z0-9_]+" library "${line}")
  string(REGEX MATCHALL "[a-z0-9_*]+" CARINA_SEEN_BY_${library} "${line}")
  list(POP_FRONT CARINA_SEEN_BY_${library})
  list(APPEND CARINA_LIBRARIES ${library})
  set(CARINA_FOLDER_OF_${library} src/${library})
endforeach()
foreach(line IN LISTS CARINA_FOLDER_LINES)
  string(REGEX MATCH "^([a-z0-9_]+) = \"(.*)\"$" library "${line}")
  set(CARINA_FOLDER_OF_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()

# The library of an included file. For "plan/select/rule.h" it is the library with the longest folder around the file,
# for a public header ("carina/tensor.h") the one that libraries.toml names.
function(carina_library_of include result)
  foreach(line IN LISTS CARINA_PUBLIC_LINES)
    string(REGEX MATCH "^\"(.*)\" = \"(.*)\"$" all "${line}")
    if(include STREQUAL CMAKE_MATCH_1)
      set(${result} ${CMAKE_MATCH_2} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(length -1)
  set(found "")
  foreach(library IN LISTS CARINA_LIBRARIES)
    string(REGEX REPLACE "^src/" "" folder ${CARINA_FOLDER_OF_${library}})
    string(LENGTH ${folder} now)
    string(FIND ${include} ${folder}/ place)
    if(place EQUAL 0 AND now GREATER length)
      set(length ${now})
      set(found ${library})
    endif()
  endforeach()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

# The targets of the libraries whose headers these files include.
function(carina_libraries_included_by result)
  set(targets "")
  foreach(source IN LISTS ARGN)
    file(STRINGS ${source} includes REGEX "^#include \"[a-z0-9_]+/")
    foreach(line IN LISTS includes)
      string(REGEX REPLACE "^#include \"(.*)\".*" "\\1" include "${line}")
      carina_library_of(${include} library)
      if(library AND NOT library MATCHES "^(firmware|interop|native|carina)$")
        list(APPEND targets carina_${library})
      endif()
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES targets)
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# The targets of the libraries that libraries.toml allows a program to include.
function(carina_seen_by program result)
  set(targets ${CARINA_SEEN_BY_${program}})
  list(TRANSFORM targets PREPEND carina_)
  set(${result} ${targets} PARENT_SCOPE)
endfunction()

# carina_library(NAME [COLD] [CHUNK number] LIBS library... PRIVATE_LIBS library...): a static library of all .cpp below
# its folder, without those of libraries inside it. It links the libraries that it may include. COLD: the library takes
# little of the time of any command, so it is compiled with -O1, which takes three quarters of the compile time of -O2.
# CHUNK: the number of files that are compiled as one (default: twenty).
function(carina_library name)
  cmake_parse_arguments(LIBRARY "COLD" "CHUNK" "LIBS;PRIVATE_LIBS" ${ARGN})
  if(NOT LIBRARY_CHUNK)
    set(LIBRARY_CHUNK 20)
  endif()
  if(LIBRARY_UNPARSED_ARGUMENTS OR NOT name IN_LIST CARINA_LIBRARIES)
    message(FATAL_ERROR "carina_library(${name}): what it sees stands in libraries.toml, on one line")
  endif()
  set(LIBRARY_SEES ${CARINA_SEEN_BY_${name}})
  if(LIBRARY_SEES STREQUAL "*")
    set(LIBRARY_SEES ${CARINA_LIBRARIES})
    list(REMOVE_ITEM LIBRARY_SEES ${name} carina interop native firmware)
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  foreach(other IN LISTS CARINA_LIBRARIES)
    if(CARINA_FOLDER_OF_${other} MATCHES "^${CARINA_FOLDER_OF_${name}}/")
      list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/${CARINA_FOLDER_OF_${other}}/")
    endif()
  endforeach()
  # On Windows, X_win32.cpp takes the place of X.cpp. The macros of its headers are not for other files of a chunk.
  set(twins ${sources})
  list(FILTER twins INCLUDE REGEX "_win32\\.cpp$")
  if(WIN32)
    set_source_files_properties(${twins} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    list(TRANSFORM twins REPLACE "_win32\\.cpp$" ".cpp")
  endif()
  list(REMOVE_ITEM sources ${twins})
  list(TRANSFORM LIBRARY_SEES PREPEND carina_)
  if(NOT sources)  # headers only
    add_library(carina_${name} INTERFACE)
    target_compile_features(carina_${name} INTERFACE cxx_std_23)
    target_include_directories(carina_${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
    target_link_libraries(carina_${name} INTERFACE ${LIBRARY_SEES} ${LIBRARY_LIBS})
    return()
  endif()
  foreach(source IN LISTS sources)  # Highway compiles these once per instruction set, which a chunk of files cannot be
    file(STRINGS ${source} vectors REGEX "hwy/foreach_target.h" LIMIT_COUNT 1)
    if(vectors)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
  add_library(carina_${name} STATIC ${sources})
  target_compile_features(carina_${name} PUBLIC cxx_std_23)
  carina_target(carina_${name} CHUNK ${LIBRARY_CHUNK} PRECOMPILED std)
  if(LIBRARY_COLD)
    target_compile_options(carina_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
  endif()
  # Header-only libraries have nothing to link or install.
  list(TRANSFORM LIBRARY_PRIVATE_LIBS REPLACE "^(carina_.*_format|nlohmann_json::nlohmann_json)$" "$<BUILD_INTERFACE:\\1>")
  target_include_directories(carina_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>)
  target_link_libraries(carina_${name} PUBLIC ${LIBRARY_SEES} ${LIBRARY_LIBS} PRIVATE ${LIBRARY_PRIVATE_LIBS})
endfunction()

# The libraries whose headers a test's files include, and the headers beside them.
function(carina_link_included target)
  file(GLOB headers CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.h)
  carina_libraries_included_by(included ${headers} ${ARGN})
  target_link_libraries(${target} PRIVATE ${included})
endfunction()

# carina_test(NAME SOURCES file... LIBS library...): a GoogleTest program that links the libraries whose headers it
# includes, one ctest entry per test case. The target unit_tests builds all of them; no other build does.
function(carina_test name)
  cmake_parse_arguments(TEST "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${TEST_SOURCES})
  carina_target(${name} CHUNK 5 PRECOMPILED tests)  # small chunks: who writes a test waits for its chunk
  # -O1, because a test is compiled about as often as it runs. GCC 12 has false warnings about writes past small
  # strings, and about parts of variants that are moved.
  target_compile_options(${name} PRIVATE ${CARINA_TEST_OPTIONS} $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds -Wno-stringop-overflow -Wno-maybe-uninitialized>)
  carina_link_included(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE ${TEST_LIBS} GTest::gtest GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE CARINA_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 120 PROPERTIES ENVIRONMENT CARINA_DEV_CHECKS=1)
  add_dependencies(unit_tests ${name})
endfunction()

# carina_test_tool(NAME SOURCES file... LIBS library...): a program that tests/integration calls. It is linked and built
# like a test.
function(carina_test_tool name)
  cmake_parse_arguments(TOOL "" "" "SOURCES;LIBS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${TOOL_SOURCES})
  carina_target(${name} PRECOMPILED std)
  carina_link_included(${name} ${TOOL_SOURCES})
  target_link_libraries(${name} PRIVATE ${TOOL_LIBS})
  add_dependencies(unit_tests ${name})
endfunction()
