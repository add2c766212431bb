#include "inspect/inspect.h"
#include "command.h"
#include "option_values.h"
#include "report/render.h"

namespace carina::cli {
namespace inspect_command {
namespace {

void add_inspect_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string file;
  app.add_option("file", file, "A .pt2, .tosa, .vgf, .pte, .npz or .npy")->required()->transform(input_path());
  app.callback(
      [&] { action = [&] { return finish(file, shown(inspect::inspect(file, console.log()), console), console); }; });
}

void add_disasm_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::string file;
  app.add_option("file", file, "A .pte with Ethos-U delegates, Vela's raw .npz, or a .vgf")
      ->required()
      ->transform(input_path());
  app.callback([&] {
    action = [&] {
      const auto made = inspect::disassemble(file);
      if (!made) return finish(file, std::unexpected(made.error()), console);
      return finish(file, console.json ? report::to_json(made->listing) : made->text, console);
    };
  });
}

}  // namespace
}  // namespace inspect_command

const Command kInspect{.name = "inspect",
                       .summary = "Show the content of a file",
                       .examples = "  carina inspect model.pt2\n  carina inspect model.pte --json",
                       .add_options = inspect_command::add_inspect_options};

const Command kDisasm{.name = "disasm",
                      .summary = "Disassemble the command streams of a program, or the SPIR-V of a .vgf",
                      .examples = "  carina disasm model.pte\n  carina disasm out_vela.npz",
                      .add_options = inspect_command::add_disasm_options};

}  // namespace carina::cli
