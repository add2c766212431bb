#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "npu/compiled_network.h"
#include "npu/registers.h"

namespace carina::npu {

// A field of a command as text: "mode" -> "IFM_UPSCALE_MODE_NONE"; numbers in decimal, addresses in hexadecimal.
struct FieldText {
  std::string_view name;
  std::string text;
  uint64_t value = 0;
  bool operator==(const FieldText&) const = default;
};

// A command as a listing or a JSON file shows it.
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

// Every command of a stream, in order. Errors: of the reader.
Result<std::vector<Command>> read_commands(Product product, std::span<const uint32_t> stream, const std::string& where);

// The listing that `vela --verbose-register-command-stream` prints, without its comments; a line "// name" stands
// before the commands of each layer instead.
std::string disassemble(Product product, std::span<const Command> commands, std::span<const LayerNote> layers = {});

}  // namespace carina::npu
