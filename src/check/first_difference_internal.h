#pragma once

#include <optional>
#include <span>
#include <string>

#include "carina/tensor.h"
#include "check/check_network.h"

namespace carina::check {

// Bytes of a result that differ from those of the model.
struct Difference {
  ir::ValueId value = {};
  std::string expected = {};  // "12 at element 17 of [1,8,8,16]"
  std::string got = {};       // "-3; 200 of 1024 elements differ"
};

// Returns what differs; nothing if no byte does.
std::optional<Difference> difference_of(const ir::Graph& graph, ir::ValueId value, const Tensor& expected,
                                        std::span<const std::byte> got);

// The first value of the model that a network computes otherwise, in the order of the network's operations, with the
// plain loops of the interpreter. Only values that are in memory as the model defines them are compared. Nothing: none
// differs.
std::optional<Difference> first_difference(const NetworkCheck& what, std::span<const Tensor> inputs);

// What the simulator's checks of hazards and reads find in a network; empty: nothing.
std::string first_finding(const NetworkCheck& what, std::span<const Tensor> inputs);

}  // namespace carina::check
