# Files that ship inside the program: pages of reports, and the library that draws their plots.

set(CARINA_EMBED_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/embed_file.cmake)
set(CARINA_VEGA_SCRIPT ${CMAKE_CURRENT_LIST_DIR}/join_vega.cmake)

# carina_embed(TARGET FILE FUNCTION): defines std::string_view carina::report::FUNCTION(), which returns the bytes of
# FILE. The build may create FILE.
function(carina_embed target file function)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_${function}.cpp)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${file} -DOUTPUT=${source} -DFUNCTION=${function} -P ${CARINA_EMBED_SCRIPT}
    DEPENDS ${file} ${CARINA_EMBED_SCRIPT} VERBATIM)
  target_sources(${target} PRIVATE ${source})
  set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# carina_vega(FILE): makes one script of the modules of Vega that plots need, as Debian's libjs-vega installs them.
function(carina_vega file)
  find_path(CARINA_VEGA_DIR vega-interpreter.min.js PATHS /usr/share/javascript/vega
    DOC "Folder of Vega's minified modules (Debian: libjs-vega)" NO_CMAKE_FIND_ROOT_PATH)
  if(NOT CARINA_VEGA_DIR)
    message(FATAL_ERROR "Vega, which draws the plots of reports, is not installed. Debian: apt-get install libjs-vega. "
      "Elsewhere: -DCARINA_VEGA_DIR=FOLDER with vega-view.min.js and the other modules' minified files of Vega 5")
  endif()
  add_custom_command(OUTPUT ${file}
    COMMAND ${CMAKE_COMMAND} -DVEGA=${CARINA_VEGA_DIR} -DOUTPUT=${file} -P ${CARINA_VEGA_SCRIPT}
    DEPENDS ${CARINA_VEGA_SCRIPT} ${CARINA_VEGA_DIR}/vega-view.min.js VERBATIM)
endfunction()
