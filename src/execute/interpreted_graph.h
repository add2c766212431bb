#pragma once

#include <string>
#include <vector>

#include "base/diagnostic.h"
#include "interpret/interpreter.h"
#include "runtime/kernel.h"

namespace carina::execute {

// A TOSA graph in the place of a delegate: called with the runtime's arguments, evaluated by the interpreter.
class InterpretedGraph {
 public:
  // `where` is what messages call the graph. Errors: as interpret::Interpreter::create()'s.
  static Result<InterpretedGraph> create(const ir::Module& module, int threads, const std::string& where);

  // `arguments`: the graph's inputs, then its outputs, each of as many bytes. Errors: other arguments, what the
  // interpreter says.
  Result<void> run(runtime::Arguments arguments);

 private:
  InterpretedGraph(std::string where, interpret::Interpreter interpreter)
      : where_(std::move(where)), interpreter_(std::move(interpreter)) {}

  std::string where_;
  std::vector<DType> inputs_;
  std::vector<Shape> shapes_;
  interpret::Interpreter interpreter_;
};

}  // namespace carina::execute
