#pragma once

#include <optional>

#include "ir/refusal.h"

namespace carina::normalize {

// The refusal of an LSTM, GRU or RNN with too many steps to decompose. No value for other nodes.
std::optional<ir::Refusal> check_recurrence(const ir::Graph& graph, const ir::Node& node);

}  // namespace carina::normalize
