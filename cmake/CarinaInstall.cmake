# The installed tree: the public headers (include/carina, docs/cpp-api.md), the libraries, the program, and what find_package(carina)
# needs. All other headers are private. Firmware builds the embedded runtime from its sources (docs/porting.md).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/carina)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/carina)

set(libraries carina_facts carina_runtime carina_runtime_kernels carina_runtime_backends)
foreach(library IN LISTS CARINA_LIBRARIES)
  if(TARGET carina_${library})
    get_target_property(type carina_${library} TYPE)
    if(type MATCHES "STATIC_LIBRARY|INTERFACE_LIBRARY")
      list(APPEND libraries carina_${library})
    endif()
  endif()
endforeach()
list(REMOVE_DUPLICATES libraries)
foreach(library IN LISTS libraries)
  string(REPLACE "carina_" "" name ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name})
endforeach()

install(TARGETS ${libraries} EXPORT carinaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS carina RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/carina/ DESTINATION ${headers})

install(EXPORT carinaTargets NAMESPACE carina:: DESTINATION ${package})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/carinaConfig.cmake.in ${PROJECT_BINARY_DIR}/carinaConfig.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/carinaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/carinaConfig.cmake ${PROJECT_BINARY_DIR}/carinaConfigVersion.cmake DESTINATION ${package})
