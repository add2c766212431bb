# The firmware kit: libraries of the embedded runtime and its surroundings, for a firmware project. find_package(carina
# COMPONENTS firmware), add_subdirectory() of the installed kit and add_subdirectory(<repository>/runtime) include this
# file (docs/guide/own-main.md). firmware/kit/files.txt lists the files of each library.
#
# carina::runtime        the runtime, its kernels and the delegate of the NPU
# carina::board          the console of the runner; the project implements the functions of firmware/board/board.h
# carina::core_driver    runs delegates through an Ethos-U core driver
# carina::runner         runs the model of an image, with a log
# carina::simulated_npu  a core driver whose NPU is a simulator in the image
# carina::qemu_board     start-up code and board of QEMU's Cortex-M machines, with semihosting
#
# Set before:
# CARINA_ETHOSU_DRIVER   the CMake target of the vendor's core driver, whose headers core_driver and runner include;
#                        unset: those of carina::simulated_npu
# CARINA_FROM_SOURCE     ON: compile carina::runtime even if the kit has an archive for the CPU
include_guard(GLOBAL)
option(CARINA_FROM_SOURCE "Compile the runtime even if the kit has an archive for the CPU" OFF)
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH CARINA_KIT_ROOT)
include(${CMAKE_CURRENT_LIST_DIR}/CarinaKernels.cmake)

# carina_kit_files(PART VARIABLE): the files of a part, as absolute paths.
function(carina_kit_files part variable)
  set(list ${CARINA_KIT_ROOT}/firmware/kit/files.txt)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${list})
  file(STRINGS ${list} lines REGEX "^${part}: ")
  set(found "")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^${part}: " "" patterns ${line})
    separate_arguments(patterns)
    list(TRANSFORM patterns PREPEND ${CARINA_KIT_ROOT}/)
    file(GLOB files ${patterns})
    list(APPEND found ${files})
  endforeach()
  set(${variable} ${found} PARENT_SCOPE)
endfunction()

# carina_kit_formats(FOLDERS TARGETS): sets FOLDERS to the include folders of FlatBuffers and of the file formats, and
# TARGETS to the targets that generate these headers. An installed kit contains them; in the repository flatc writes
# them.
function(carina_kit_formats folders targets)
  if(EXISTS ${CARINA_KIT_ROOT}/generated/program_generated.h)
    set(${folders} ${CARINA_KIT_ROOT}/generated PARENT_SCOPE)
    set(${targets} "" PARENT_SCOPE)
    return()
  endif()
  if(NOT TARGET carina_pte_format)
    add_subdirectory(${CARINA_KIT_ROOT}/facts/schemas ${CMAKE_CURRENT_BINARY_DIR}/carina_schemas EXCLUDE_FROM_ALL)
  endif()
  get_target_property(found carina_pte_format INTERFACE_INCLUDE_DIRECTORIES)
  set(${folders} ${found} PARENT_SCOPE)
  set(${targets} carina_pte_schema carina_ptd_schema PARENT_SCOPE)
endfunction()

# Compile options of our sources, for GCC and Clang.
set(CARINA_KIT_OPTIONS -fno-exceptions -fno-rtti -fno-threadsafe-statics -ffunction-sections -fdata-sections -ffp-contract=off
  $<$<CXX_COMPILER_ID:GNU>:-Wno-psabi>)

# carina_kit_library(PART TYPE library...): carina::PART of its sources. Parts are compiled only for targets that link
# them.
function(carina_kit_library part type)
  carina_kit_files(${part} sources)
  add_library(carina_${part} ${type} EXCLUDE_FROM_ALL ${sources})
  add_library(carina::${part} ALIAS carina_${part})
  target_compile_features(carina_${part} PUBLIC cxx_std_20)
  target_compile_options(carina_${part} PRIVATE ${CARINA_KIT_OPTIONS})
  target_include_directories(carina_${part} PUBLIC ${CARINA_KIT_ROOT})
  target_link_libraries(carina_${part} PUBLIC ${ARGN})
endfunction()

# The archive of carina::runtime for the CPU in the project's flags. There is none for another CPU or calling convention
# than the archives have, and none in the repository.
function(carina_kit_archive variable)
  set(${variable} "" PARENT_SCOPE)
  set(flags "${CMAKE_CXX_FLAGS} ")
  if(CARINA_FROM_SOURCE OR NOT flags MATCHES "-mcpu=[a-z0-9-]+ " OR NOT flags MATCHES "-mfloat-abi=hard" OR flags MATCHES "-mfpu=|-mcpu=.*-mcpu=")
    return()
  endif()
  string(REGEX REPLACE ".*-mcpu=([a-z0-9-]+) .*" "\\1" cpu "${flags}")
  set(archive ${CARINA_KIT_ROOT}/lib/${cpu}/libcarina_runtime.a)
  if(EXISTS ${archive})
    set(${variable} ${archive} PARENT_SCOPE)
  endif()
endfunction()

if(CARINA_KIT_FILES_ONLY)  # zephyr/CMakeLists.txt
  return()
endif()

carina_kit_archive(carina_archive)
if(carina_archive)
  add_library(carina_runtime STATIC IMPORTED GLOBAL)
  add_library(carina::runtime ALIAS carina_runtime)
  set_target_properties(carina_runtime PROPERTIES IMPORTED_LOCATION ${carina_archive})
  target_include_directories(carina_runtime INTERFACE ${CARINA_KIT_ROOT})
  target_compile_features(carina_runtime INTERFACE cxx_std_20)
else()
  carina_kit_formats(carina_folders carina_formats)
  carina_kit_library(runtime STATIC)
  target_include_directories(carina_runtime SYSTEM PRIVATE ${carina_folders})
  if(CMAKE_SYSTEM_NAME STREQUAL "Generic")  # files are verified before use, and newlib's assert brings stdio
    target_compile_definitions(carina_runtime PRIVATE FLATBUFFERS_ASSERT=static_cast<void>)
  endif()
  if(carina_formats)
    add_dependencies(carina_runtime ${carina_formats})
  endif()
endif()
carina_kit_library(board STATIC)
carina_kit_library(simulated_npu STATIC carina_board)
target_include_directories(carina_simulated_npu PUBLIC ${CARINA_KIT_ROOT}/firmware/driver)
target_compile_options(carina_simulated_npu PRIVATE -fwrapv)  # accumulators wrap, as hardware's do
if(NOT CARINA_ETHOSU_DRIVER)
  set(CARINA_ETHOSU_DRIVER carina_simulated_npu)
endif()
carina_kit_library(core_driver STATIC carina_runtime carina_board ${CARINA_ETHOSU_DRIVER})
carina_kit_library(runner STATIC carina_core_driver)
carina_kit_library(qemu_board OBJECT carina_runner)  # objects: nothing refers to a vector table
target_link_directories(carina_qemu_board INTERFACE ${CARINA_KIT_ROOT}/firmware/corstone300)  # INCLUDE sections.ld
