// Defines the name of a compilation target.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carina/buffer.h"

namespace carina::targets {

// A vela.ini in memory.
struct ConfigFile {
  std::string name = {};  // what messages call it
  Buffer text = {};
};

// A target by its names. The case of letters is ignored; an empty name selects the default of the NPU's family.
struct TargetNames {
  std::string accelerator = {};    // as Vela names the configuration
  std::string system_config = {};  // a section of a file, or one of those built in
  std::string memory_mode = {};
  // Sections of these files take precedence over the built-in ones. If several files have a key, the later file's value
  // counts, as in Vela.
  std::vector<ConfigFile> ini = {};
  // Replaces the memory mode's arena_cache_size: the bytes of fast memory that the network may use.
  std::optional<int64_t> arena_cache_bytes = {};
};

}  // namespace carina::targets
