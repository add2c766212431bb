# Toolchain: a bare-metal Cortex-M with newlib, Debian's gcc-arm-none-eabi. The CPU is a Cortex-M55, or -DCARINA_CPU=cortex-m85 and others.
# No fused multiply-add: float kernels give the bits that they give on a host.
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
set(CMAKE_CXX_FLAGS_INIT "-mcpu=${CARINA_CPU} -mthumb -mfloat-abi=${float_abi} -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -fno-threadsafe-statics -ffp-contract=off")
