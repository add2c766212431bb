#pragma once

#include <optional>

#include "ir/rejection.h"

namespace carina::normalize {

// The rejection of an LSTM, GRU or RNN with too many steps to decompose. No value for other nodes.
std::optional<ir::Rejection> check_recurrence(const ir::Graph& graph, const ir::Node& node);

}  // namespace carina::normalize
