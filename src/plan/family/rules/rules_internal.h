#pragma once

#include <span>

#include "plan/select/rule.h"

// The rows of each family, one file per family.
namespace carina::plan {

std::span<const Rule> shram_rules();  // ethos-u55, ethos-u65
std::span<const Rule> u85_rules();

}  // namespace carina::plan
