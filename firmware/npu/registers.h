#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <span>

#include "facts/npu_registers.h"

namespace carina::firmware::npu_core {

// The value of each register after the commands so far. Unwritten registers are 0.
class Registers {
 public:
  void write(npu::Reg reg, uint64_t data) {
    data_[static_cast<size_t>(reg)] = data;
    written_[static_cast<size_t>(reg)] = true;
  }
  [[nodiscard]] bool written(npu::Reg reg) const { return written_[static_cast<size_t>(reg)]; }
  // Parameter (bits 0..15) and payload (bits 16..47), in the format of npu::FieldRow.
  [[nodiscard]] uint64_t data(npu::Reg reg) const { return data_[static_cast<size_t>(reg)]; }
  [[nodiscard]] uint32_t payload(npu::Reg reg) const { return static_cast<uint32_t>(data(reg) >> 16); }
  [[nodiscard]] int32_t stride(npu::Reg reg) const { return static_cast<int32_t>(payload(reg)); }

 private:
  std::array<uint64_t, npu::kRegCount> data_{};
  std::bitset<npu::kRegCount> written_;
};

struct Command {
  bool is_register = false;
  npu::Reg reg{};
  npu::Op op{};
  uint64_t data = 0;
};

// Reads the command at `word` and advances `word`. Returns false for an unknown or truncated command.
bool read_command(std::span<const uint32_t> stream, size_t& word, Command& command);

}  // namespace carina::firmware::npu_core
