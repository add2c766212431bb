#pragma once

#include <optional>

#include "ir/refusal.h"

namespace carina::normalize {

// An LSTM, GRU or RNN of more steps than are written one by one, which no pass decomposes; nothing for other nodes.
std::optional<ir::Refusal> check_recurrence(const ir::Graph& graph, const ir::Node& node);

}  // namespace carina::normalize
