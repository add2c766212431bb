#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/diagnostic.h"
#include "facts/npu_targets.h"
#include "npu/compiled_network.h"

namespace carina::npu {

// The regions that commands of a stream may write to: results and transfers out of the NPU go there. Branches are not
// followed: all words count. A register that is never set names region 0; the number of a chaining buffer counts as a
// region. Errors: as of StreamReader::next().
Result<std::bitset<kMaxRegions>> written_regions(Product product, std::span<const uint32_t> words,
                                                 const std::string& where);

// Whether a run of the network's stream may write to the region of its weights. That may also be one that is written anyway:
// the arena, or where inputs are copied to. Of a damaged stream: yes.
bool may_write_weights(const CompiledNetwork& network, Product product, std::span<const uint32_t> words);

}  // namespace carina::npu
