#include "lower/tosa_passes/aliases_internal.h"

#include <algorithm>
#include <string>

namespace carina::lower {

using ir::ValueId;

bool Aliases::may_replace(ValueId value, ValueId source) const {
  if (value.index() >= is_output_.size() || !is_output_[value.index()]) return true;
  const bool is_input = std::ranges::find(graph_.inputs, source) != graph_.inputs.end();
  const bool is_output = std::ranges::find(graph_.outputs, source) != graph_.outputs.end();
  return !is_input && !is_output && !graph_[source].constant;
}

void Aliases::replace(ValueId value, ValueId source) {
  if (alias_.size() <= value.index()) alias_.resize(value.index() + 1);
  alias_[value.index()] = source;
  if (value.index() >= is_output_.size() || !is_output_[value.index()]) return;
  std::ranges::replace(graph_.outputs, value, source);
  const std::string name = graph_[value].name;  // graph outputs keep their names
  graph_.rename(value, name + ".replaced");
  graph_.rename(source, name);
}

}  // namespace carina::lower
