# cmake -DBUILD=<build tree> -DWORK=<folder> -DGENERATOR=... -P run.cmake: installs the build into WORK and builds and
# runs the consumer there.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/tree)
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/consumer -G ${GENERATOR}
  -DCMAKE_PREFIX_PATH=${WORK}/tree -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_BUILD_TYPE=Debug)
step(${CMAKE_COMMAND} --build ${WORK}/consumer)
step(${WORK}/consumer/consumer)
step(${WORK}/tree/bin/carina --version)
file(REMOVE_RECURSE ${WORK})
