// Declares what a .tflite file holds, in plain C++: every index, shape and size has been checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carina/buffer.h"
#include "carina/dtype.h"
#include "carina/shape.h"

namespace carina::tflite {

// Whose bits FULLY_CONNECTED and LSTM of int8 have: those of LiteRT's reference kernels or of Vela's streams. The
// latter round FULLY_CONNECTED twice, not once, and compute LSTM by the NPU's own functions.
enum class Rounding : uint8_t { kLiteRt, kVela };

// real = (integer - zero_point) * scale. There is one scale, or one per index of `axis`. No scales: not quantized.
// LiteRT computes with these floats in float or in double, depending on the operator.
struct TensorQuantization {
  std::vector<float> scales;
  std::vector<int64_t> zero_points;  // as many as scales
  size_t axis = 0;

  [[nodiscard]] bool is_per_channel() const { return scales.size() > 1; }
};

// A tensor of a subgraph.
struct Tensor {
  std::string name;               // as in Netron: the file's, or "tensor_<index>" if the file has none
  DType dtype = DType::kUnknown;  // kUnknown: a type that Carina does not have (text, resource)
  std::string type_name;          // of the format: "INT8"
  Shape shape;
  TensorQuantization quantization;
  bool has_open_batch = false;  // the file leaves the first size open; the shape has the usual one, mostly 1
  bool is_variable = false;     // it keeps its value between two runs
  bool is_sparse = false;
  bool is_constant = false;
  Buffer data;  // of a constant, of exactly the size of its type and shape; else empty

  // The bytes of all elements; 0 for a type that Carina does not have.
  [[nodiscard]] int64_t bytes() const {
    return dtype == DType::kUnknown ? 0 : shape.elements() * static_cast<int64_t>(element_bytes(dtype));
  }
};

enum class Padding : int8_t { kSame = 0, kValid = 1 };
enum class Activation : int8_t { kNone = 0, kRelu = 1, kReluN1To1 = 2, kRelu6 = 3, kTanh = 4, kSignBit = 5 };

// The options of all operators. An operator has those of its table in the schema; the others keep their defaults.
struct Options {
  Padding padding = Padding::kSame;
  Activation activation = Activation::kNone;
  int32_t stride_h = 1;
  int32_t stride_w = 1;
  int32_t dilation_h = 1;
  int32_t dilation_w = 1;
  int32_t filter_h = 1;
  int32_t filter_w = 1;
  int32_t axis = 0;
  int32_t batch_dims = 0;
  int32_t block_size = 1;  // of DEPTH_TO_SPACE and SPACE_TO_DEPTH
  int32_t begin_mask = 0;
  int32_t end_mask = 0;
  int32_t ellipsis_mask = 0;
  int32_t new_axis_mask = 0;
  int32_t shrink_axis_mask = 0;
  float alpha = 0;
  float beta = 0;
  int8_t weights_format = 0;  // of FULLY_CONNECTED; 0: rows of the matrix
  int8_t mirror_mode = 0;     // 0: reflect, 1: symmetric
  bool has_offset = false;    // of STRIDED_SLICE: `end` is relative to `begin`
  bool align_corners = false;
  bool half_pixel_centers = false;
  bool approximate = false;
  bool pot_scale_int16 = true;  // of ADD and SUB: int16 scales are powers of two
  bool adj_x = false;           // of BATCH_MATMUL: the operand's last two axes are exchanged
  bool adj_y = false;
  bool asymmetric_inputs = false;  // of hybrid FULLY_CONNECTED: the input is quantized with a zero point
  bool time_major = false;         // of UNIDIRECTIONAL_SEQUENCE_LSTM: [time, batch, ...]
  float cell_clip = 0;             // of UNIDIRECTIONAL_SEQUENCE_LSTM; 0: none
  int32_t rank = 1;                // of SVDF
  int32_t init_subgraph = 0;       // of CALL_ONCE
  std::string variable;            // of VAR_HANDLE: container and name
};

constexpr int32_t kAbsent = -1;  // an operand that an operator does without

struct Operator {
  int32_t code = 0;  // BuiltinOperator of the schema
  int32_t version = 1;
  std::string name;                         // "CONV_2D"; of a custom operator the name that the file gives
  std::vector<int32_t> inputs;              // indices of tensors, or kAbsent
  std::vector<int32_t> outputs;             // indices of tensors
  std::vector<int32_t> intermediates = {};  // indices of tensors that only have a quantization
  Options options;
};

struct Subgraph {
  std::string name;
  std::vector<Tensor> tensors;
  std::vector<int32_t> inputs;
  std::vector<int32_t> outputs;
  std::vector<Operator> operators;        // in an order in which they can be evaluated
  Rounding rounding = Rounding::kLiteRt;  // not of the file: a choice of the user
};

// Data that the file holds beside its graphs.
struct Metadata {
  std::string name;
  Buffer data;
};

// An entry point: a graph by a name.
struct Signature {
  std::string key;
  size_t subgraph = 0;
};

struct Model {
  std::string description;
  std::vector<Subgraph> subgraphs;  // at least one; the first is the main one
  std::vector<Metadata> metadata = {};
  std::vector<Signature> signatures = {};
  std::string signature = {};  // whose graph was made the main one (signatures.h); empty: none
  bool is_part = false;        // of a graph whose other operators, and resource variables, are the CPU's
};

// The name of the custom operator that runs a command stream on the NPU. A file with it has been compiled: its tensors
// lie at planned addresses of one arena, through which values also pass without being an operator's operands.
inline constexpr std::string_view kNpuOperator = "ethos-u";
bool is_compiled(const Subgraph& graph);

}  // namespace carina::tflite
