#include "targets/vela_ini_internal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ini.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "npu/table_names.h"
#include "targets/ini_values_internal.h"

namespace carina::targets {

namespace {

constexpr std::string_view kSystemPrefix = "System_Config.";
constexpr std::string_view kModePrefix = "Memory_Mode.";
// The limits beyond which inih splits a line or truncates a section's name (INI_MAX_LINE, MAX_SECTION in ini.c).
constexpr size_t kLongestLine = 198;
constexpr size_t kLongestSection = 49;
constexpr size_t kLargestFile = size_t{1} << 20;

// Stores a name for the rest of the process, because the structs of the facts library hold views of names.
std::string_view kept(std::string_view name) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> names;
  const std::scoped_lock lock(mutex);
  return *names.emplace(name).first;
}

// Returns the text without comments, so that inih never splits or truncates a line. Errors: lines or section names that
// are too long.
Result<std::string> fitted(std::string_view text, const std::string& where) {
  if (text.size() > kLargestFile)
    return fail({.where = where,
                 .what = "the configuration file is too large",
                 .expected = fmt::format("at most {} bytes", kLargestFile),
                 .got = fmt::format("{}", text.size())});
  if (text.contains('\0')) return fail({.where = where, .what = "not a text file: it holds a NUL byte"});
  std::string result;
  for (size_t start = 0, number = 1; start < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    const size_t first = line.find_first_not_of(" \t\r");
    const bool comment = first == std::string_view::npos || line[first] == ';' || line[first] == '#';
    if (!comment && line.size() > kLongestLine)
      return fail({.where = fmt::format("{}:{}", where, number),
                   .what = "the line is too long",
                   .expected = fmt::format("at most {} characters", kLongestLine),
                   .got = fmt::format("{}", line.size())});
    if (!comment && line[first] == '[' && !line.contains(']'))
      return fail({.where = fmt::format("{}:{}", where, number),
                   .what = "the bracket of the section's name is not closed",
                   .expected = "[NAME]",
                   .got = std::string(line.substr(first, kLongestSection))});
    if (!comment && line[first] == '[' && line.substr(first).find(']') > kLongestSection)
      return fail({.where = fmt::format("{}:{}", where, number),
                   .what = "the section's name is too long",
                   .expected = fmt::format("at most {} characters", kLongestSection)});
    if (!comment) result += line;
    result += '\n';
    start = end + 1;
  }
  return result;
}

}  // namespace

int VelaIni::add_entry(void* self, const char* section, const char* key, const char* value) {
  auto& ini = *static_cast<VelaIni*>(self);
  const auto [at, is_new] = ini.sections_[section].emplace(lower_case(key), value);
  if (!is_new)
    ini.errors_.push_back({.where = fmt::format("{}: [{}]", ini.where_, section),
                           .what = fmt::format("{} is given twice", key),
                           .got = fmt::format("{} and {}", at->second, value)});
  return 1;
}

Result<VelaIni> VelaIni::parse(const Buffer& text, const std::string& where) {
  CARINA_TRY(const std::string lines, fitted({reinterpret_cast<const char*>(text.data()), text.size()}, where));
  VelaIni ini(where);
  const int line = ini_parse_string(lines.c_str(), &VelaIni::add_entry, &ini);
  if (line != 0)
    return fail({.where = fmt::format("{}:{}", where, line),
                 .what = "not a configuration file of Vela",
                 .expected = "[section], KEY=VALUE or ; comment"});
  if (!ini.errors_.empty()) return fail(std::move(ini.errors_));
  return ini;
}

void VelaIni::merge(const VelaIni& later) {
  where_ += ", " + later.where_;
  for (const auto& [section, keys] : later.sections_) {
    for (const auto& [key, value] : keys) sections_[section].insert_or_assign(key, value);
  }
}

std::optional<std::string> VelaIni::section_of(std::string_view prefix, std::string_view name) const {
  const std::string wanted = fmt::format("{}{}", prefix, name);
  if (sections_.contains(wanted)) return wanted;
  const auto is_it = [&](const auto& section) { return npu::same_name(section.first, wanted); };
  const auto found = std::ranges::find_if(sections_, is_it);
  if (found == sections_.end() || std::ranges::count_if(sections_, is_it) > 1) return std::nullopt;
  return found->first;
}

bool VelaIni::has_system_config(std::string_view name) const {
  return section_of(kSystemPrefix, name).has_value();
}
bool VelaIni::has_memory_mode(std::string_view name) const {
  return section_of(kModePrefix, name).has_value();
}
std::vector<std::string> VelaIni::system_configs() const {
  return names(kSystemPrefix);
}
std::vector<std::string> VelaIni::memory_modes() const {
  return names(kModePrefix);
}

std::vector<std::string> VelaIni::names(std::string_view prefix) const {
  std::vector<std::string> found;
  for (const auto& [section, keys] : sections_) {
    if (section.starts_with(prefix)) found.push_back(section.substr(prefix.size()));
  }
  return found;
}

// Adds the keys of [DEFAULT] that the section does not have, like Python's ConfigParser.
VelaIni::Section VelaIni::with_defaults(Section keys, const Sections& sections) {
  const auto defaults = sections.find("DEFAULT");
  if (defaults == sections.end()) return keys;
  for (const auto& [key, value] : defaults->second) keys.emplace(key, value);
  return keys;
}

// Returns the section's keys, and the keys that it inherits from other sections.
Result<VelaIni::Section> VelaIni::resolved(const std::string& section) const {
  Section keys;
  std::vector<std::string> path;
  for (std::string at = section;;) {
    const bool circle = std::ranges::find(path, at) != path.end();
    path.push_back(at);
    const auto found = sections_.find(at);
    if (circle)
      return fail({.where = fmt::format("{}: [{}]", where_, section),
                   .what = "the section inherits from itself",
                   .got = fmt::format("{}", fmt::join(path, " -> ")),
                   .fault = Fault::kUsage});
    if (found == sections_.end())
      return fail({.where = fmt::format("{}: [{}]", where_, section),
                   .what = fmt::format("inherits from [{}], which does not exist", at),
                   .fault = Fault::kUsage});
    for (const auto& [key, value] : found->second) keys.emplace(key, value);
    const auto parent = found->second.find("inherit");
    if (parent == found->second.end()) return with_defaults(std::move(keys), sections_);
    at = parent->second;
  }
}

Result<std::string> VelaIni::found_section(std::string_view prefix, std::string_view name) const {
  auto section = section_of(prefix, name);
  if (section) return *std::move(section);
  return fail({.where = where_,
               .what = fmt::format("no section [{}{}]", prefix, name),
               .expected = fmt::format("{}", fmt::join(names(prefix), ", ")),
               .fault = Fault::kUsage});
}

Result<npu::SystemConfig> VelaIni::system_config(std::string_view name, npu::Product product,
                                                 Diagnostics& notes) const {
  CARINA_TRY(const std::string section, found_section(kSystemPrefix, name));
  CARINA_TRY(const Section keys, resolved(section));
  IniValues values(keys, fmt::format("{}: [{}]", where_, section));
  npu::SystemConfig config{.name = kept(std::string_view(section).substr(kSystemPrefix.size())),
                           .product = product,
                           .core_clock_hz = values.real("core_clock", {.smallest = 1, .largest = 1e12}),
                           .ports = {}};
  for (size_t port = 0; port < config.ports.size(); ++port) config.ports[port] = values.port(port, product);
  if (!values.errors().empty()) return fail(values.errors());
  if (const auto assumed = values.assumptions(npu::defaults_of(product).system_config)) notes.push_back(*assumed);
  return config;
}

Result<npu::MemoryMode> VelaIni::memory_mode(std::string_view name) const {
  CARINA_TRY(const std::string section, found_section(kModePrefix, name));
  CARINA_TRY(const Section keys, resolved(section));
  IniValues values(keys, fmt::format("{}: [{}]", where_, section));
  const npu::MemoryMode mode{
      .name = kept(std::string_view(section).substr(kModePrefix.size())),
      .constants_port = values.axi("const_mem_area"),
      .arena_port = values.axi("arena_mem_area"),
      .cache_port = values.axi("cache_mem_area"),
      .cache_bytes = values.integer_or("arena_cache_size", 0, {.smallest = 1, .largest = int64_t{1} << 40})};
  if (mode.cache_port != 0) values.reject("cache_mem_area", "Axi0: the cache is SRAM");
  if (!values.errors().empty()) return fail(values.errors());
  return mode;
}

}  // namespace carina::targets
