#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "carina/result.h"
#include "facts/npu_targets.h"

namespace carina::targets {

// Configuration files of Vela. They have the sections [System_Config.NAME] and [Memory_Mode.NAME]. A section may
// inherit the keys of another one, and [DEFAULT] has the keys that no section sets. The case of keys is ignored; so is
// the case of section names, if only one name matches. Other sections are ignored. Source: ethos-u-vela 5.2.0,
// OPTIONS.md and config_files/Arm/vela.ini.
class VelaIni {
 public:
  // Errors: a line that is not a section, a comment or KEY=VALUE; a duplicate key; a line or name that is too long; a
  // NUL byte.
  static Result<VelaIni> parse(const Buffer& text, const std::string& where);

  // Merges the sections of a file that is read later. Its keys replace existing ones.
  void merge(const VelaIni& later);

  [[nodiscard]] bool has_system_config(std::string_view name) const;
  [[nodiscard]] bool has_memory_mode(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> system_configs() const;
  [[nodiscard]] std::vector<std::string> memory_modes() const;

  // Returns the values of a section. The name in the result stays valid until the process ends. The file does not name
  // the NPU of a system, so the caller gives `product`. Missing memory speeds are taken from the product's default
  // system, with a note in `notes`. Errors, all of a section at once: no such section; no clock or ports; values that
  // are not numbers or are out of range; an inherited section that is missing or inherits from itself; SRAM that is not
  // at AXI port 0.
  [[nodiscard]] Result<npu::SystemConfig> system_config(std::string_view name, npu::Product product,
                                                        Diagnostics& notes) const;
  [[nodiscard]] Result<npu::MemoryMode> memory_mode(std::string_view name) const;

 private:
  using Section = std::map<std::string, std::string, std::less<>>;  // keys in lower case
  using Sections = std::map<std::string, Section, std::less<>>;

  explicit VelaIni(std::string where) : where_(std::move(where)) {}
  static int add_entry(void* self, const char* section, const char* key, const char* value);
  // Returns a section's name as spelled in the file: the given name, or the only one that differs in case. No value if
  // there is no such section.
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
