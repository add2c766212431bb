// Declares the content of a bundled program (.bpte), its reader and its writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "carina/buffer.h"
#include "carina/dtype.h"
#include "carina/result.h"
#include "carina/shape.h"

namespace carina::pte {

// A tensor of a test case, with the bytes of its elements in memory order.
struct BundledTensor {
  DType dtype = DType::kUnknown;
  Shape shape;
  std::vector<uint8_t> dim_order;  // outermost first; empty means contiguous
  Buffer data;
};
using BundledValue = std::variant<BundledTensor, int64_t, bool, double>;

struct TestCase {
  std::vector<BundledValue> inputs;
  std::vector<BundledValue> expected_outputs;
};

// The test cases of one method.
struct TestSuite {
  std::string method;
  std::vector<TestCase> cases;
};

// The content of a .bpte: a program and its test cases with expected outputs. Source: ExecuTorch's
// bundled_program_schema.fbs (facts/schemas).
struct BundledProgram {
  std::vector<TestSuite> suites;
  Buffer program;  // a .pte, aligned to 16 bytes or more
};

bool is_bundled_program(const Buffer& file);

// Reads a .bpte. Tensors and the program are views of `file`. It checks the identifier, the version, the FlatBuffer
// structure, types, shapes, and the number of bytes of each tensor. The program is not checked; it has its own reader.
// Errors name the test case.
Result<BundledProgram> read_bundled_program(const Buffer& file, const std::string& where);

// Returns the bytes of a .bpte for ExecuTorch's devtools and runners. Equal content gives equal bytes. Errors: more
// than 2 GiB.
Result<std::vector<std::byte>> write_bundled_program(const BundledProgram& bundle);

}  // namespace carina::pte
