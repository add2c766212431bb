#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostic.h"
#include "base/memory/buffer.h"
#include "facts/npu_targets.h"

namespace carina::targets {

// Configuration files of Vela: the sections [System_Config.NAME] and [Memory_Mode.NAME], where a section may inherit the
// keys of another, and [DEFAULT] says what no other does. Keys may be in any case; so may names of sections, where only
// one fits. Other sections are left alone. Source: ethos-u-vela 5.2.0, OPTIONS.md and config_files/Arm/vela.ini.
class VelaIni {
 public:
  // Errors: a line that is no section, comment or KEY=VALUE, a key given twice, a line or name too long, a NUL byte.
  static Result<VelaIni> parse(const Buffer& text, const std::string& where);

  // Takes in the sections of a file that is read after this one: its keys come before those that are here.
  void merge(const VelaIni& later);

  [[nodiscard]] bool has_system_config(std::string_view name) const;
  [[nodiscard]] bool has_memory_mode(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> system_configs() const;
  [[nodiscard]] std::vector<std::string> memory_modes() const;

  // The section's values; its name lives as long as the process. The file does not say which NPU a system is for: that
  // is the caller's `product`. How fast a memory is may be left out: then the product's default system stands in, and
  // `notes` says so. Errors, all of a section at once: no such section, no clock or ports, values that are no number or
  // out of range, an inherited section that is missing or inherits in a circle, SRAM not behind AXI port 0.
  [[nodiscard]] Result<npu::SystemConfig> system_config(std::string_view name, npu::Product product,
                                                        Diagnostics& notes) const;
  [[nodiscard]] Result<npu::MemoryMode> memory_mode(std::string_view name) const;

 private:
  using Section = std::map<std::string, std::string, std::less<>>;  // keys in lower case
  using Sections = std::map<std::string, Section, std::less<>>;

  explicit VelaIni(std::string where) : where_(std::move(where)) {}
  static int add_entry(void* self, const char* section, const char* key, const char* value);
  // The name of a section as the file has it: as it is given, or the only one that differs in case. Nothing: none is.
  [[nodiscard]] std::optional<std::string> section_of(std::string_view prefix, std::string_view name) const;
  [[nodiscard]] Result<std::string> found_section(std::string_view prefix, std::string_view name) const;
  [[nodiscard]] static Section with_defaults(Section keys, const Sections& sections);
  [[nodiscard]] Result<Section> resolved(const std::string& section) const;
  [[nodiscard]] std::vector<std::string> names(std::string_view prefix) const;

  std::string where_;
  Sections sections_;
  Diagnostics errors_;
};

}  // namespace carina::targets
