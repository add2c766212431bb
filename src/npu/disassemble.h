#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carina/result.h"
#include "npu/compiled_network.h"
#include "npu/registers.h"

// Text forms of command streams.
namespace carina::npu {

// A field of a command as text: "mode" -> "IFM_UPSCALE_MODE_NONE". Numbers are decimal, addresses hexadecimal.
struct FieldText {
  std::string_view name;
  std::string text;
  uint64_t value = 0;
  bool operator==(const FieldText&) const = default;
};

// A command as text, for a listing or a JSON file.
struct CommandText {
  uint32_t byte_offset = 0;
  std::string_view name;  // "NPU_SET_IFM_PAD_TOP"
  uint16_t code = 0;      // the low half of its word: opcode and form
  uint16_t param = 0;
  uint32_t payload = 0;
  uint32_t words = 1;
  std::vector<FieldText> fields;
};

CommandText describe(Product product, const Command& command);

// Decodes every command of a stream, in order. Errors: those of StreamReader.
Result<std::vector<Command>> read_commands(Product product, std::span<const uint32_t> stream, const std::string& where);

// Writes the listing that `vela --verbose-register-command-stream` prints, without its comments. A line "// name"
// before the commands of each layer replaces them.
std::string disassemble(Product product, std::span<const Command> commands, std::span<const LayerNote> layers = {});

}  // namespace carina::npu
