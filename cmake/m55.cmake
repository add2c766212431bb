# Toolchain: a bare-metal Cortex-M with newlib, Debian's gcc-arm-none-eabi. The CPU is a Cortex-M55, or
# -DCARINA_CPU=cortex-m85 and others. No fused multiply-add: float kernels give the bits that they give on a host.
set(CARINA_CPU cortex-m55 CACHE STRING "the CPU of the images: cortex-m0, -m0plus, -m3, -m4, -m7, -m23, -m33, -m35p, -m55 or -m85")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CARINA_CPU)
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR ${CARINA_CPU})
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
if(CARINA_CPU MATCHES "^cortex-m(0|0plus|3|23)$")  # no floating-point unit
  set(float_abi soft)
else()
  set(float_abi hard)
endif()
set(flags "-mcpu=${CARINA_CPU} -mthumb -mfloat-abi=${float_abi} -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -fno-threadsafe-statics -ffp-contract=off")

# GCC knows the Cortex-M85 from version 13 on. Clang compiles for it with the headers and libraries of an older GCC,
# which links: for the linker, the CPU is a Cortex-M55, whose libraries are those of the same architecture (Armv8.1-M
# with MVE).
execute_process(COMMAND arm-none-eabi-g++ -mcpu=${CARINA_CPU} -E -x c++ /dev/null RESULT_VARIABLE unknown_cpu OUTPUT_QUIET ERROR_QUIET)
if(unknown_cpu AND CARINA_CPU STREQUAL cortex-m85)
  set(CMAKE_C_COMPILER clang-19)
  set(CMAKE_CXX_COMPILER clang++-19)
  set(library_flags "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard")
  execute_process(COMMAND sh -c "LC_ALL=C arm-none-eabi-g++ ${library_flags} -E -x c++ -v /dev/null 2>&1 | sed -n '/#include <\\.\\.\\.>/,/^End of/s/^ //p' | grep -v '/lib/gcc/arm-none-eabi/[0-9.]*/include'"
    OUTPUT_VARIABLE folders OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(REPLACE "\n" " -isystem " folders "${folders}")
  set(flags "--target=arm-none-eabi ${flags} -nostdinc++ -isystem ${folders}")
  set(CARINA_WARNINGS_ARE_ERRORS OFF CACHE BOOL "of another compiler" FORCE)
  find_program(CMAKE_AR arm-none-eabi-ar)
  find_program(CMAKE_RANLIB arm-none-eabi-ranlib)
  set(CMAKE_CXX_LINK_EXECUTABLE "arm-none-eabi-g++ ${library_flags} <LINK_FLAGS> <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
endif()
set(CMAKE_CXX_FLAGS_INIT "${flags}")
