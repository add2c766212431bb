# The firmware images that `carina firmware` fills. They are built with the host's programs if the cross compiler is
# installed (scripts/setup.sh --full), into the folder that carina searches: <prefix>/share/carina/firmware.

find_program(CARINA_CROSS_COMPILER arm-none-eabi-g++)
if(NOT CARINA_CROSS_COMPILER OR CARINA_SANITIZE)
  return()
endif()
include(GNUInstallDirs)
set(images ${PROJECT_BINARY_DIR}/share/carina/firmware)
set(build ${PROJECT_BINARY_DIR}/firmware)
# Flags in the environment, such as those of dpkg-buildpackage, are for the host's compiler.
set(cross_cmake ${CMAKE_COMMAND} -E env --unset=CFLAGS --unset=CXXFLAGS --unset=CPPFLAGS --unset=LDFLAGS ${CMAKE_COMMAND})
add_custom_target(firmware ALL
  COMMAND ${cross_cmake} -S ${PROJECT_SOURCE_DIR} -B ${build} -G ${CMAKE_GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/m55.cmake
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-Os -DNDEBUG" -DCARINA_FIRMWARE=ON -DCARINA_IMAGES=${images} --log-level=WARNING
  COMMAND ${CMAKE_COMMAND} --build ${build}
  COMMENT "Firmware images" VERBATIM)
file(MAKE_DIRECTORY ${images})
install(DIRECTORY ${images}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/carina/firmware COMPONENT firmware
  FILES_MATCHING PATTERN "*.elf" PATTERN "link/*" PATTERN "kit" EXCLUDE)
# A wheel has the images too, beside its program. They do not depend on the host's processor: a wheel for another one
# takes those of this machine's build. A build of a wheel alone (pip install .) does not make them.
set(images_of_wheel ${images})
if(CMAKE_CROSSCOMPILING)
  set(images_of_wheel ${PROJECT_SOURCE_DIR}/build/release/share/carina/firmware)
endif()
install(DIRECTORY ${images_of_wheel}/ DESTINATION carina/share/carina/firmware COMPONENT wheel EXCLUDE_FROM_ALL OPTIONAL
  FILES_MATCHING PATTERN "*.elf" PATTERN "link/*" PATTERN "kit" EXCLUDE)

# The firmware kit (firmware/kit/files.txt, docs/guide/own-main.md): sources, headers, and an archive of the runtime per
# CPU.
set(CARINA_FIRMWARE_CPUS cortex-m4 cortex-m7 cortex-m33 cortex-m55 cortex-m85 CACHE STRING "the CPUs for which the firmware kit has archives")
set(kit ${images}/kit)
set(schemas ${PROJECT_BINARY_DIR}/facts/schemas)
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
add_custom_target(firmware_kit ALL
  COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/scripts/firmware_kit.py ${kit} --version ${PROJECT_VERSION}
    --generated ${schemas}/generated --flatbuffers ${schemas}/flatbuffers
  COMMENT "Firmware kit" VERBATIM)
add_dependencies(firmware_kit carina_pte_schema carina_ptd_schema)
find_program(CARINA_CLANG_FOR_M85 clang++-19)
execute_process(COMMAND ${CARINA_CROSS_COMPILER} -mcpu=cortex-m85 -E -x c++ /dev/null RESULT_VARIABLE m85_unknown OUTPUT_QUIET ERROR_QUIET)
set(before firmware)  # one build at a time: each has as many jobs as the machine has CPUs
foreach(cpu IN LISTS CARINA_FIRMWARE_CPUS)
  set(work ${build}-${cpu})
  set(target --target carina_runtime)
  set(image "")
  if(cpu STREQUAL cortex-m55)  # the images' build
    set(work ${build})
    set(target "")
  elseif(cpu STREQUAL cortex-m85 AND m85_unknown AND NOT CARINA_CLANG_FOR_M85)
    message(STATUS "Firmware kit: no archive for ${cpu}, which neither ${CARINA_CROSS_COMPILER} nor clang++-19 compiles for")
    continue()
  elseif(cpu STREQUAL cortex-m85)  # the image with Corstone-320's memory map is for this CPU
    list(APPEND target corstone320-host)
    set(image COMMAND ${CMAKE_COMMAND} -E copy_if_different ${work}/bin/corstone320-host.elf ${images}/corstone320-host.elf)
  endif()
  add_custom_target(firmware_kit_${cpu}
    COMMAND ${cross_cmake} -S ${PROJECT_SOURCE_DIR} -B ${work} -G ${CMAKE_GENERATOR}
      -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/m55.cmake -DCARINA_CPU=${cpu} -DCMAKE_BUILD_TYPE=Release
      "-DCMAKE_CXX_FLAGS_RELEASE=-Os -DNDEBUG" -DCARINA_FIRMWARE=ON --log-level=WARNING
    COMMAND ${CMAKE_COMMAND} --build ${work} ${target}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${kit}/lib/${cpu}
    COMMAND ${CMAKE_COMMAND} -E copy_if_different ${work}/runtime/libcarina_runtime.a ${kit}/lib/${cpu}/libcarina_runtime.a
    ${image}
    COMMENT "Firmware kit: archive for ${cpu}" VERBATIM)
  add_dependencies(firmware_kit_${cpu} ${before})
  set(before firmware_kit_${cpu})
  add_dependencies(firmware_kit firmware_kit_${cpu})
endforeach()
install(DIRECTORY ${kit} DESTINATION ${CMAKE_INSTALL_DATADIR}/carina/firmware COMPONENT firmware)
