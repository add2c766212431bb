#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"

namespace carina::npu {

// The regions that commands of a stream may write to: results and transfers out of the NPU go there. Branches are not
// followed: all words count. A register that is never set names region 0; the number of a chaining buffer counts as a
// region. Errors: as of StreamReader::next().
Result<std::bitset<kMaxRegions>> written_regions(Product product, std::span<const uint32_t> words,
                                                 const std::string& where);

}  // namespace carina::npu
