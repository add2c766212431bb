#include "firmware/corstone300/semihosting.h"

#include <array>
#include <cstring>

namespace carina::firmware::semihosting {

namespace {

enum class Call : uint32_t {
  kOpen = 0x01,
  kClose = 0x02,
  kWriteText = 0x04,
  kWrite = 0x05,
  kRead = 0x06,
  kLength = 0x0C,
  kCommandLine = 0x15,
  kExitExtended = 0x20,
};

constexpr uint32_t kApplicationExit = 0x20026;

uint32_t word(const void* pointer) {
  return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(pointer));
}

int32_t call(Call number, uint32_t argument) {
  register uint32_t r0 asm("r0") = static_cast<uint32_t>(number);
  register uint32_t r1 asm("r1") = argument;
  asm volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
  return static_cast<int32_t>(r0);
}

template <size_t N>
int32_t call(Call number, const std::array<uint32_t, N>& block) {
  return call(number, word(block.data()));
}

}  // namespace

int32_t open(const char* name, Mode mode) {
  return call(Call::kOpen, std::array{word(name), static_cast<uint32_t>(mode), uint32_t(std::strlen(name))});
}

void close(int32_t file) {
  call(Call::kClose, std::array{static_cast<uint32_t>(file)});
}

bool read(int32_t file, std::span<std::byte> bytes) {
  while (!bytes.empty()) {  // a pipe may return fewer bytes than requested
    const auto wanted = static_cast<uint32_t>(bytes.size());
    const int32_t missing = call(Call::kRead, std::array{static_cast<uint32_t>(file), word(bytes.data()), wanted});
    if (missing < 0 || static_cast<uint32_t>(missing) >= wanted) return false;
    bytes = bytes.last(static_cast<size_t>(missing));
  }
  return true;
}

bool write(int32_t file, std::span<const std::byte> bytes) {
  return call(Call::kWrite, std::array{static_cast<uint32_t>(file), word(bytes.data()), uint32_t(bytes.size())}) == 0;
}

int32_t length(int32_t file) {
  return call(Call::kLength, std::array{static_cast<uint32_t>(file)});
}

void write_console(const char* text) {
  call(Call::kWriteText, word(text));
}

size_t command_line(std::span<char> text) {
  std::array block{word(text.data()), static_cast<uint32_t>(text.size())};
  return call(Call::kCommandLine, block) == 0 ? block[1] : 0;
}

void exit(int status) {
  call(Call::kExitExtended, std::array{kApplicationExit, static_cast<uint32_t>(status)});
  for (;;) {
  }
}

}  // namespace carina::firmware::semihosting
