# cmake -DBUILD=<build tree> -DWORK=<folder> -DGENERATOR=... -DCOMPILER=... -DCLANG=<or nothing> -P run.cmake: installs
# the build into WORK, compiles each installed header alone, compiles all of them with clang, and builds and runs the
# consumer programs.
function(step)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGN}\nexit code ${code}\n${text}")
  endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
step(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/tree)
cmake_path(SET include NORMALIZE ${CMAKE_CURRENT_LIST_DIR}/../../include)
file(GLOB_RECURSE public RELATIVE ${include} ${include}/*)
list(JOIN public "," public)
set(together OFF)
foreach(compiler IN ITEMS ${COMPILER} ${CLANG})
  cmake_path(GET compiler FILENAME name)
  step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/${name} -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/tree
    -DCMAKE_CXX_COMPILER=${compiler} -DCMAKE_BUILD_TYPE=Debug -DPUBLIC_HEADERS=${public} -DTOGETHER=${together})
  step(${CMAKE_COMMAND} --build ${WORK}/${name} --target headers)
  set(together ON)
endforeach()
cmake_path(GET COMPILER FILENAME name)
step(${CMAKE_COMMAND} --build ${WORK}/${name} --target consumer consumer_c plugin)
step(${WORK}/${name}/consumer)
step(${WORK}/${name}/consumer_c)

# The plug-in exports no symbol of Carina.
function(exports_its_own library)
  execute_process(COMMAND nm -DC --defined-only ${library} OUTPUT_VARIABLE exported COMMAND_ERROR_IS_FATAL ANY)
  if(exported MATCHES "carina::" OR NOT exported MATCHES "plugin_version")
    message(FATAL_ERROR "the plug-in exports:\n${exported}")
  endif()
endfunction()
exports_its_own(${WORK}/${name}/libplugin.so)

# The programs of the guide, as the page prints them.
file(MAKE_DIRECTORY ${WORK}/guide)
set(repository ${CMAKE_CURRENT_LIST_DIR}/../..)
step(python3 ${CMAKE_CURRENT_LIST_DIR}/guide_programs.py ${repository}/docs/guide/cpp.md ${WORK}/guide)
foreach(compiler IN ITEMS ${CLANG} ${COMPILER})
  step(${CMAKE_COMMAND} -S ${WORK}/guide -B ${WORK}/guide/build -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/tree --fresh
    -DCMAKE_CXX_COMPILER=${compiler} "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror")
  step(${CMAKE_COMMAND} --build ${WORK}/guide/build --clean-first)
endforeach()
file(CREATE_LINK ${repository}/models ${WORK}/guide/models SYMBOLIC)
function(guide_program program expected)
  execute_process(COMMAND ${WORK}/guide/build/${program} WORKING_DIRECTORY ${WORK}/guide OUTPUT_VARIABLE text
    COMMAND_ERROR_IS_FATAL ANY)
  if(NOT text MATCHES "${expected}")
    message(FATAL_ERROR "${program} printed:\n${text}expected ${expected}")
  endif()
endfunction()
guide_program(compile_digits "1 delegate.s., [0-9]+ cycles")
guide_program(run_digits "44[0-9] of 450 right")
guide_program(evaluate_digits "tosa.CONV2D")

# Builds without CMake, through pkg-config.
set(ENV{PKG_CONFIG_PATH} ${WORK}/tree/lib/pkgconfig:${WORK}/tree/lib64/pkgconfig)
function(compile_with_pkg_config)  # eval: a path may have blanks
  step(sh -c "eval 'exec \"$@\"' \"$(pkg-config --cflags --libs carina)\"" sh ${COMPILER} ${ARGN})
endfunction()
compile_with_pkg_config(-std=c++23 ${CMAKE_CURRENT_LIST_DIR}/consumer.cpp -o ${WORK}/plain)
step(${WORK}/plain)
compile_with_pkg_config(-std=c++23 -fPIC -shared ${CMAKE_CURRENT_LIST_DIR}/plugin.cpp -o ${WORK}/libplain.so)
exports_its_own(${WORK}/libplain.so)

# Without a dependency, an optional find_package() must not fail.
set(ENV{PKG_CONFIG_LIBDIR} ${WORK}/nothing)
unset(ENV{PKG_CONFIG_PATH})
step(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/missing -B ${WORK}/missing -G ${GENERATOR} -DCMAKE_PREFIX_PATH=${WORK}/tree
  -DCMAKE_CXX_COMPILER=${COMPILER})
unset(ENV{PKG_CONFIG_LIBDIR})

foreach(file share/doc/carina/LICENSE include/carina/carina.h)
  if(NOT EXISTS ${WORK}/tree/${file})
    message(FATAL_ERROR "${file} is not installed")
  endif()
endforeach()
if(EXISTS ${WORK}/tree/carina OR EXISTS ${WORK}/tree/carina_arm)
  message(FATAL_ERROR "the Python package is installed with the library")
endif()
step(${WORK}/tree/bin/carina --version)
file(REMOVE_RECURSE ${WORK})
