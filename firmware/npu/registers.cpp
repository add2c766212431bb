#include "firmware/npu/registers.h"

namespace carina::firmware::npu_core {

namespace {

constexpr uint8_t kNoCommand = 0xFF;
constexpr uint8_t kOperationBit = 0x80;
static_assert(npu::kRegCount < kOperationBit && npu::kOpCount < kOperationBit - 1);

// Maps opcodes of both forms to a Reg, or to an Op with kOperationBit set. Opcodes are below 0x200.
constexpr size_t kOpcodes = 0x200;
using OpcodeMap = std::array<std::array<uint8_t, kOpcodes>, 2>;

template <size_t N>
constexpr void add_commands(OpcodeMap& map, const std::array<npu::CommandRow, N>& rows, uint8_t bit) {
  for (size_t i = 0; i < N; ++i) {
    if (!contains(rows[i].products, npu::Product::kU55)) continue;
    map[rows[i].form == npu::Form::kNoPayload ? 0 : 1][rows[i].opcode] = static_cast<uint8_t>(i | bit);
  }
}

constexpr OpcodeMap opcode_map() {
  OpcodeMap map;
  for (auto& form : map) form.fill(kNoCommand);
  add_commands(map, npu::kRegRows, 0);
  add_commands(map, npu::kOpRows, kOperationBit);
  return map;
}

constexpr OpcodeMap kOpcodeMap = opcode_map();

}  // namespace

bool read_command(std::span<const uint32_t> stream, size_t& word, Command& command) {
  const uint32_t first = stream[word];
  const uint32_t form = first >> npu::kControlShift & npu::kControlMask;
  const uint32_t opcode = first & npu::kOpcodeMask;
  if (form > npu::kCmd1 || opcode >= kOpcodes || (first & npu::kReservedMask) != 0) return false;
  const uint8_t found = kOpcodeMap[form][opcode];
  if (found == kNoCommand || word + form >= stream.size()) return false;
  command = {.is_register = (found & kOperationBit) == 0, .reg = {}, .op = {}, .data = first >> 16};
  if (form == npu::kCmd1) command.data |= uint64_t{stream[word + 1]} << 16;
  if (command.is_register) {
    command.reg = static_cast<npu::Reg>(found);
  } else {
    command.op = static_cast<npu::Op>(found & ~kOperationBit);
  }
  word += 1 + form;
  return true;
}

}  // namespace carina::firmware::npu_core
