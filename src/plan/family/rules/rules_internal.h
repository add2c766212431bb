#pragma once

#include <span>

#include "plan/select/rule.h"

// The rows of each line of NPUs, one file each.
namespace carina::plan {

std::span<const Rule> shram_rules();  // ethos-u55, ethos-u65
std::span<const Rule> u85_rules();

}  // namespace carina::plan
