#include "execute/interpreted_graph.h"

#include <fmt/format.h>

#include <cstring>

#include "carina/buffer.h"

namespace carina::execute {

namespace {

Diagnostic argument_error(const std::string& where, size_t index, size_t expected, std::string got) {
  return {.where = where,
          .what = fmt::format("argument {} of the delegate call does not fit", index),
          .expected = fmt::format("a tensor of {} bytes", expected),
          .got = std::move(got)};
}

Result<std::span<std::byte>> bytes_of(const runtime::EValue& argument, size_t bytes, const std::string& where,
                                      size_t index) {
  if (!argument.is_tensor()) return fail(argument_error(where, index, bytes, "no tensor"));
  const runtime::Tensor& tensor = argument.tensor;
  if (tensor.bytes() != bytes)
    return fail(argument_error(where, index, bytes, fmt::format("{} bytes", tensor.bytes())));
  return std::span(static_cast<std::byte*>(tensor.data), bytes);
}

}  // namespace

Result<InterpretedGraph> InterpretedGraph::create(const ir::Module& module, int threads, const std::string& where) {
  CARINA_TRY(interpret::Interpreter interpreter,
             interpret::Interpreter::create(module, {.threads = threads, .where = where}));
  InterpretedGraph graph(where, std::move(interpreter));
  for (const ir::ValueId input : module.main().inputs) {
    graph.inputs_.push_back(module.main()[input].dtype);
    graph.shapes_.push_back(module.main()[input].shape);
  }
  return graph;
}

Result<void> InterpretedGraph::run(runtime::Arguments arguments) {
  const auto count_error = [&](size_t expected) {
    return fail(
        {.where = where_,
         .what = "the number of arguments of the delegate call differs from the number of graph inputs and outputs",
         .expected = std::to_string(expected),
         .got = std::to_string(arguments.size())});
  };
  if (arguments.size() < inputs_.size()) return count_error(inputs_.size());
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    CARINA_TRY(const std::span<std::byte> bytes,
               bytes_of(*arguments[i], tensor_bytes(inputs_[i], shapes_[i]), where_, i));
    inputs.push_back({.dtype = inputs_[i], .shape = shapes_[i], .data = Buffer::copy_of(bytes)});
  }
  CARINA_TRY(const std::vector<Tensor> outputs, interpreter_.run(inputs));
  if (arguments.size() != inputs.size() + outputs.size()) return count_error(inputs.size() + outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t index = inputs.size() + i;
    const std::span<const std::byte> made = outputs[i].data.bytes();
    CARINA_TRY(const std::span<std::byte> bytes, bytes_of(*arguments[index], made.size(), where_, index));
    if (!made.empty()) std::memcpy(bytes.data(), made.data(), made.size());
  }
  return {};
}

}  // namespace carina::execute
