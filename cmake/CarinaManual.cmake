# Manual pages and shell completions, which the program itself prints, in build/<preset>/share/man and others.
# They are installed with the program (component tools). A cross-compiled program cannot print them here.

if(CMAKE_CROSSCOMPILING AND NOT CMAKE_CROSSCOMPILING_EMULATOR)
  return()
endif()
include(GNUInstallDirs)
set(share ${PROJECT_BINARY_DIR}/share)
set(pages ${share}/man/man1)
set(completions bash-completion/completions/carina zsh/vendor-completions/_carina fish/vendor_completions.d/carina.fish)
list(TRANSFORM completions PREPEND ${share}/ OUTPUT_VARIABLE completion_files)
add_custom_command(OUTPUT ${pages}/carina.1 ${completion_files}
  COMMAND ${CMAKE_COMMAND} -DCARINA=$<TARGET_FILE:carina> -DSHARE=${share} -P ${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake
  DEPENDS carina ${CMAKE_CURRENT_LIST_DIR}/write_manual.cmake COMMENT "Manual pages and completions" VERBATIM)
add_custom_target(manual ALL DEPENDS ${pages}/carina.1 ${completion_files})
install(DIRECTORY ${pages}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
foreach(file IN LISTS completions)
  get_filename_component(folder ${file} DIRECTORY)
  install(FILES ${share}/${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder} COMPONENT tools)
endforeach()
