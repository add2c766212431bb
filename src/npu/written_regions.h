#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "carina/result.h"
#include "facts/npu_targets.h"
#include "npu/compiled_network.h"

// The regions that a command stream writes.
namespace carina::npu {

// The regions that commands of a stream may write: those of results and of transfers out of the NPU. Branches are not
// followed; all words count. A register that is never set selects region 0. The number of a chaining buffer counts as a
// region. Errors: as StreamReader::next().
Result<std::bitset<kMaxRegions>> written_regions(Product product, std::span<const uint32_t> words,
                                                 const std::string& where);

// Returns whether a run of the network's stream may write the region of its weights. The weights may share a region
// that is written in any case: the arena, or the destination of inputs. Returns true for a damaged stream.
bool may_write_weights(const CompiledNetwork& network, Product product, std::span<const uint32_t> words);

}  // namespace carina::npu
