# cmake -DCARINA=program -DSHARE=folder -P write_manual.cmake: writes the manual pages and the completions that
# `program` prints.
function(carina_prints file)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${CARINA} ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${SHARE}/man/man1)
file(MAKE_DIRECTORY ${SHARE}/man/man1)
execute_process(COMMAND ${CARINA} manual -o ${SHARE}/man/man1 OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
carina_prints(${SHARE}/bash-completion/completions/carina completion bash)
carina_prints(${SHARE}/zsh/vendor-completions/_carina completion zsh)
carina_prints(${SHARE}/fish/vendor_completions.d/carina.fish completion fish)
