#pragma once

#include <string>
#include <vector>

#include "carina/result.h"
#include "interpret/interpreter.h"
#include "runtime/kernel.h"

namespace carina::execute {

// A TOSA graph that replaces a delegate: it is called with the runtime's arguments and evaluated by the interpreter.
class InterpretedGraph {
 public:
  // `where` is the graph's name in messages. Errors: those of interpret::Interpreter::create().
  static Result<InterpretedGraph> create(const ir::Module& module, int threads, const std::string& where);

  // `arguments` are the graph's inputs followed by its outputs, each with the same number of bytes. Errors: arguments
  // that do not match; the interpreter's.
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
