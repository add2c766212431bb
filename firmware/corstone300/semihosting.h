#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Semihosting: a debugger, or QEMU, does what the image asks for. Source: Arm's "Semihosting for AArch32 and AArch64".
namespace carina::firmware::semihosting {

enum class Mode : uint32_t { kRead = 1, kWrite = 5 };  // "rb", "wb"

// Negative: there is no such file.
int32_t open(const char* name, Mode mode);
void close(int32_t file);
// False when not all bytes could be moved. Reading waits for bytes that are still to come.
bool read(int32_t file, std::span<std::byte> bytes);
bool write(int32_t file, std::span<const std::byte> bytes);
int32_t length(int32_t file);
void write_console(const char* text);  // ends with NUL
// The command line, with the program's name first; empty when there is none.
size_t command_line(std::span<char> text);
[[noreturn]] void exit(int status);

}  // namespace carina::firmware::semihosting
