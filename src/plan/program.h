#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/block.h"
#include "plan/network.h"

namespace carina::plan {

// The scales and compressed weights of one operation, as they stand in the constants' region: scales first.
struct EncodedWeights {
  std::vector<std::byte> bytes;
  int64_t scale_bytes = 0;
  int64_t weight_bytes = 0;
  int64_t address = -1;  // in the constants' region, once placed
};

// What the command stream does next: an operation of the network, or a transfer that prepares one.
struct Command {
  enum class Kind : uint8_t { kOperation, kLoadTable, kLoadWeights };
  Kind kind = Kind::kOperation;
  size_t operation = 0;  // that is done or prepared
  int slot = 0;          // of the lookup table: kLoadTable, and operations that use one
};

// A network with every decision taken; what remains is to write it down.
struct Program {
  Network network;
  std::vector<BlockConfig> blocks;  // per operation
  std::vector<EncodedWeights> encoded;
  std::vector<size_t> encoded_of;          // per operation: index into `encoded`, or kNone
  std::vector<TensorId> staged;            // per operation: where its weights are copied to, if they are
  std::vector<std::vector<size_t>> loads;  // per operation: whose weights start to be copied before it
  std::vector<Command> commands;
  std::vector<std::byte> constants;  // region 0
  int64_t arena_bytes = 0;           // region 1

  static constexpr size_t kNone = static_cast<size_t>(-1);
};

}  // namespace carina::plan
