#include "command.h"
#include "execute/vgf_delegate.h"
#include "option_values.h"
#include "targets/board_list.h"
#include "targets/target_list.h"

namespace carina::cli {
namespace targets_command {
namespace {

void add_options(CLI::App& app, Console& console, std::function<int()>& action) {
  static std::vector<std::string> config_files;
  app.add_option("--config", config_files, "A vela.ini whose sections are listed too (may be repeated)")
      ->allow_extra_args(false)
      ->check(path());
  static bool vulkan = false;
  app.add_flag("--vulkan", vulkan,
               "List the Vulkan devices of this machine instead, with the missing features for VGF graphs");
  static bool boards = false;
  app.add_flag("--boards", boards, "List the boards that --board of compile, explain and sweep takes instead");
  app.callback([&] {
    action = [&] {
      if (boards) return finish("", shown(Result<results::BoardList>(targets::list_boards()), console), console);
      if (vulkan) return finish("", shown(Result<results::VulkanReport>(execute::vulkan_devices()), console), console);
      return finish("", shown(targets::list_targets(config_files), console), console);
    };
  });
}

}  // namespace
}  // namespace targets_command

const Command kTargets{
    .name = "targets",
    .summary =
        "List the NPUs, system configurations and memory modes, and their legal combinations (also: --list-configs)",
    .examples =
        "  carina targets\n  carina targets --boards\n  carina targets --config board.ini --json\n  carina targets "
        "--vulkan",
    .add_options = targets_command::add_options};

}  // namespace carina::cli
