# The firmware images that `carina firmware` fills, built beside the host's programs where the cross compiler is installed
# (scripts/setup.sh --full). They stand where carina looks for them: <prefix>/share/carina/firmware.

find_program(CARINA_CROSS_COMPILER arm-none-eabi-g++)
if(NOT CARINA_CROSS_COMPILER OR CARINA_SANITIZE)
  return()
endif()
include(GNUInstallDirs)
set(images ${PROJECT_BINARY_DIR}/share/carina/firmware)
set(build ${PROJECT_BINARY_DIR}/firmware)
add_custom_target(firmware ALL
  COMMAND ${CMAKE_COMMAND} -S ${PROJECT_SOURCE_DIR} -B ${build} -G ${CMAKE_GENERATOR} -DCMAKE_TOOLCHAIN_FILE=${PROJECT_SOURCE_DIR}/cmake/m55.cmake
    -DCMAKE_BUILD_TYPE=Release "-DCMAKE_CXX_FLAGS_RELEASE=-Os -DNDEBUG" -DCARINA_FIRMWARE=ON -DCARINA_IMAGES=${images} --log-level=WARNING
  COMMAND ${CMAKE_COMMAND} --build ${build}
  COMMENT "Firmware images" VERBATIM)
file(MAKE_DIRECTORY ${images})
install(DIRECTORY ${images}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/carina/firmware COMPONENT firmware FILES_MATCHING PATTERN "*.elf" PATTERN "link/*")
