#pragma once

#include <cstddef>
#include <span>

#include "program_generated.h"

namespace carina::runtime {

namespace fb = carina::pte::schema;

// The root table of a file that Program::load() has verified.
const fb::Program& root_of(std::span<const std::byte> file);

}  // namespace carina::runtime
