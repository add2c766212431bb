# The installed tree: the public headers (include/carina, docs/cpp-api.md), the libraries, the program, and what
# find_package(carina) needs. All other headers are private. CarinaFirmware.cmake installs the firmware kit.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/carina)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/carina)

# The library `api` and its dependencies, without report pages and image decoders.
set(seen api)
set(libraries "")
while(seen)
  list(POP_FRONT seen library)
  if(TARGET carina_${library} AND NOT carina_${library} IN_LIST libraries)
    list(APPEND libraries carina_${library})
    list(APPEND seen ${CARINA_SEEN_BY_${library}})
  endif()
endwhile()
foreach(library IN LISTS libraries)
  string(REPLACE "carina_" "internal_" name ${library})  # what programs link is carina::api
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

set_target_properties(carina_api PROPERTIES EXPORT_NAME api)

# A user's shared library that links the archives does not export their symbols.
list(TRANSFORM libraries REPLACE "(.+)" "lib\\1.a" OUTPUT_VARIABLE archives)
list(JOIN archives ":" archive_names)
target_link_options(carina_api INTERFACE
  "$<INSTALL_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,SHARED_LIBRARY>:LINKER:--exclude-libs,${archive_names}>>"
  "$<INSTALL_INTERFACE:$<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,MODULE_LIBRARY>:LINKER:--exclude-libs,${archive_names}>>")

# Components: compiler (headers, archives, CMake package, pkg-config), tools (the program), firmware (images, kit, CMake
# package). The Python package is the component wheel, which only scikit-build installs.
install(TARGETS ${libraries} EXPORT carinaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS carina RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tools)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/carina/ DESTINATION ${headers} COMPONENT compiler)

install(EXPORT carinaTargets NAMESPACE carina:: DESTINATION ${package} COMPONENT compiler)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/carinaConfig.cmake.in ${PROJECT_BINARY_DIR}/carinaConfig.cmake
  INSTALL_DESTINATION ${package} PATH_VARS CMAKE_INSTALL_BINDIR CMAKE_INSTALL_DATADIR)
# The version file accepts any pointer size, because the component firmware is for 32-bit CPUs. carinaConfig.cmake
# checks the size for the other components.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/carinaConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
foreach(component compiler firmware)
  install(FILES ${PROJECT_BINARY_DIR}/carinaConfig.cmake ${PROJECT_BINARY_DIR}/carinaConfigVersion.cmake DESTINATION ${package}
    COMPONENT ${component})
endforeach()

# For builds without CMake: pkg-config --cflags --libs carina. The archives refer to each other, so they are one group.
set(carina_link_words "")
foreach(library IN LISTS libraries)
  get_target_property(type ${library} TYPE)
  if(type STREQUAL STATIC_LIBRARY)
    string(APPEND carina_link_words " -l${library}")
  endif()
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/carina.pc.in ${PROJECT_BINARY_DIR}/carina.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/carina.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT compiler)
foreach(component compiler tools firmware)
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/carina COMPONENT ${component})
endforeach()
