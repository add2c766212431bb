# Toolchain: bare-metal Cortex-M55 with newlib, Debian's gcc-arm-none-eabi.
# No fused multiply-add: float kernels give the bits that they give on a host.
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR cortex-m55)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_CXX_COMPILER arm-none-eabi-g++)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_FLAGS_INIT "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard -fno-exceptions -fno-rtti -ffunction-sections -fdata-sections -fno-threadsafe-statics -ffp-contract=off")
