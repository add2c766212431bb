#include "npu/disassemble.h"

#include <fmt/format.h>

#include <iterator>

namespace carina::npu {

namespace {

constexpr std::string_view kHeading = "  Offset: Payload Param Code - Command                        Param, Fields\n";

std::string field_text(const FieldRow& field, uint32_t value, Product product) {
  const std::string_view name = value_name(field, value, product);
  return name.empty() ? fmt::format("{}", value) : fmt::format("{}{}", field.values->prefix, name);
}

// The bits of an address in the listing. They include the parameter, which U55 ignores.
uint64_t address_bits_of(const Command& command) {
  return static_cast<uint64_t>(command.param & 0xFF) << 32 | command.payload;
}

void append_line(std::string& out, const CommandText& text) {
  const std::string payload = text.words == 2 ? fmt::format("{:08x}", text.payload) : std::string();
  fmt::format_to(std::back_inserter(out), "{:#08x}: {:8} {:04x} {:04x} - {:30} {:5}", text.byte_offset, payload,
                 text.param, text.code, text.name, text.param);
  for (const FieldText& field : text.fields)
    fmt::format_to(std::back_inserter(out), ", {} = {}", field.name, field.text);
  out += '\n';
}

void append_layer(std::string& out, const LayerNote& layer) {
  fmt::format_to(std::back_inserter(out), "// {}", layer.name);
  for (const std::string& op : layer.tosa_ops) fmt::format_to(std::back_inserter(out), " {}", op);
  for (const std::string& line : layer.source_lines) fmt::format_to(std::back_inserter(out), " ({})", line);
  out += '\n';
}

}  // namespace

CommandText describe(Product product, const Command& command) {
  const CommandRow& row = command.row();
  const uint32_t control = row.form == Form::kNoPayload ? kCmd0 : kCmd1;
  CommandText text{.byte_offset = command.word_index * 4,
                   .name = row.name,
                   .code = static_cast<uint16_t>(control << kControlShift | row.opcode),
                   .param = command.param,
                   .payload = command.payload,
                   .words = command.words(),
                   .fields = {}};
  if (row.form == Form::kAddress) {
    const uint64_t bits = address_bits_of(command);
    text.fields.push_back({.name = "addr", .text = fmt::format("{:#x}", bits), .value = bits});
    return text;
  }
  for (const FieldRow& field : command.fields()) {
    if (!contains(field.products, product)) continue;
    const uint32_t value = field.get(command.data());
    // A custom DMA engine is a rare option of U55. The field is shown only if it is not 0.
    if (field.name == "custom_dma_cs" && value == 0) continue;
    text.fields.push_back({.name = field.name, .text = field_text(field, value, product), .value = value});
  }
  return text;
}

Result<std::vector<Command>> read_commands(Product product, std::span<const uint32_t> stream,
                                           const std::string& where) {
  StreamReader reader(product, stream, where);
  std::vector<Command> commands;
  for (Command command;;) {
    CARINA_TRY(const bool more, reader.next(command));
    if (!more) return commands;
    commands.push_back(command);
  }
}

std::string disassemble(Product product, std::span<const Command> commands, std::span<const LayerNote> layers) {
  std::string out(kHeading);
  size_t next_layer = 0;
  for (const Command& command : commands) {
    while (next_layer < layers.size() && layers[next_layer].first_word <= command.word_index)
      append_layer(out, layers[next_layer++]);
    append_line(out, describe(product, command));
  }
  return out;
}

}  // namespace carina::npu
