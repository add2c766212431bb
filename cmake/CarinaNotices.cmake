# THIRD-PARTY-NOTICES.txt, which `carina --licenses` prints, and the bill of materials sbom.cdx.json
# (scripts/third_party.py), in <prefix>/share/carina. The wheel has them beside its program.

include(GNUInstallDirs)
set(notices ${PROJECT_BINARY_DIR}/share/carina/THIRD-PARTY-NOTICES.txt)
set(sbom ${PROJECT_BINARY_DIR}/share/carina/sbom.cdx.json)
set(script ${PROJECT_SOURCE_DIR}/scripts/third_party.py)
set(rows ${PROJECT_SOURCE_DIR}/third_party.toml)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/carina)
find_package(Python3 3.10 REQUIRED COMPONENTS Interpreter)
add_custom_command(OUTPUT ${notices} ${sbom}
  COMMAND ${Python3_EXECUTABLE} ${script} notices ${notices}
  COMMAND ${Python3_EXECUTABLE} ${script} sbom ${sbom} ${PROJECT_VERSION}
  DEPENDS ${script} ${rows} COMMENT "Notices and bill of materials of third-party code" VERBATIM)
add_custom_target(notices ALL DEPENDS ${notices} ${sbom})
if(TARGET carina)  # `carina --licenses` reads them
  add_dependencies(carina notices)
endif()
install(FILES ${notices} ${sbom} ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/carina)
install(FILES ${notices} ${sbom} DESTINATION carina/share/carina COMPONENT wheel EXCLUDE_FROM_ALL)
