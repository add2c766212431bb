#include <fmt/format.h>

#include "frontend/vgf/spirv_module_internal.h"
#include "frontend/vgf/vgf.h"

// The text of a VGF file: its container, then the SPIR-V of each module.
namespace carina::vgf {

Result<std::string> disassemble(const Buffer& file, const std::string& where) {
  CARINA_TRY(const Container container, read_container(file, where));
  std::string out;
  for (const CodeModule& module : container.modules) {
    out += fmt::format("; module {}, entry point {}\n", module.name, module.entry_point);
    if (const auto* source = std::get_if<Source>(&module.code)) {
      out += source->text + "\n";
    } else if (const auto* spirv = std::get_if<Spirv>(&module.code)) {
      CARINA_TRY(const SpirvModule parsed, parse_spirv(spirv->words, fmt::format("{}: module {}", where, module.name)));
      out += print_spirv(parsed);
    } else {
      out += "; no code: the program brings it\n";
    }
  }
  return out;
}

}  // namespace carina::vgf
