#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

// Semihosting: requests of the image to a debugger or QEMU. Source: Arm's "Semihosting for AArch32 and AArch64".
namespace carina::firmware::semihosting {

enum class Mode : uint32_t { kRead = 1, kWrite = 5 };  // "rb" and "wb"

// Opens a file. Returns a negative number if it cannot be opened.
int32_t open(const char* name, Mode mode);
void close(int32_t file);
// Returns false if not all bytes could be transferred. read() blocks until the bytes are available.
bool read(int32_t file, std::span<std::byte> bytes);
bool write(int32_t file, std::span<const std::byte> bytes);
int32_t length(int32_t file);
void write_console(const char* text);  // ends with NUL
// Reads the command line, which begins with the program's name. Returns its length, or 0 if there is none.
size_t command_line(std::span<char> text);
[[noreturn]] void exit(int status);

}  // namespace carina::firmware::semihosting
