#pragma once

#include <functional>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "carina/log.h"
#include "carina/result.h"
#include "carina/tensor.h"
#include "interpret/interpreter.h"
#include "ir/evaluator.h"
#include "ir/graph.h"

namespace carina::observe {

// A CONV2D or DEPTHWISE_CONV2D with constant weights, as the interpreter runs it.
struct WeightedLayer {
  ir::ValueId result;    // the value of the whole graph that the ATen node computes
  ir::Node convolution;  // the TOSA node
  Shape weight;          // the TOSA shape: [O,KH,KW,C], or [KH,KW,C,M]
  Shape output;          // [N,H,W,O]
  size_t part = 0;       // the index of this node, if the ATen node became several (one per group)
};

struct FloatRunOptions {
  int threads = 1;
  const ir::Evaluator* evaluator = nullptr;  // runs the nodes that TOSA does not support; nullptr: such nodes are
                                             // errors
  // Called with each input and each computed value as soon as it is known. `values` are all values with these elements,
  // perhaps in another layout. Each value is passed once per run. The tensor is valid during the call only. `extremes`
  // are those of the elements if they are fp32.
  std::function<void(std::span<const ir::ValueId> values, const Tensor& tensor, const kernels::Extremes& extremes)>
      observer = {};
  // Selects the values to observe, after it is known which nodes run on kernels. Without it all are observed. Values
  // that are not observed are computed faster, fused with their neighbors.
  std::function<std::vector<bool>(const std::vector<bool>& on_kernels)> observed = {};
  // Called with the image [N,H,W,C] that each weighted layer reads.
  std::function<void(const WeightedLayer& layer, const Tensor& image)> layers = {};
  enum class Values {
    kFast,   // the clean-up after lowering may remove some values
    kEvery,  // every computed value is kept
  } values = Values::kFast;
  enum class Weights {
    kPacked,  // keeps a packed copy of all weights, for many runs
    kOneLayerAtATime,
  } weights = Weights::kPacked;
  enum class Integers : uint8_t {
    kAsInTosa,  // int64 values are computed as int32
    kWide,      // nodes with int64 values keep PyTorch's int64, if the evaluator supports them
  } integers = Integers::kAsInTosa;
  interpret::Sums sums = interpret::Sums::kInOrder;
  std::string where = {};  // prefix of node names in messages
};

// Runs a normalized graph: nodes that TOSA supports run in the interpreter, and the others with the CPU's kernels.
// Quantized values are integers in the interpreter. Inputs, outputs and observed values are floats.
class FloatRun {
 public:
  // Errors, all at once: every node that neither engine supports.
  static Result<FloatRun> create(const ir::Graph& aten, const FloatRunOptions& options, const Log& log);

  // Takes one tensor per graph input, and returns one per graph output, both in order. Errors: those of the engines.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);

  // Per node of the graph: whether kernels run it because TOSA does not have it.
  [[nodiscard]] const std::vector<bool>& on_kernels() const;
  // Returns the int64 values, constants included, that were outside the range of int32 in a run so far.
  [[nodiscard]] const std::set<ir::ValueId>& beyond_int32() const;

  FloatRun(FloatRun&&) noexcept;
  FloatRun& operator=(FloatRun&&) noexcept;
  ~FloatRun();

 private:
  struct Session;
  explicit FloatRun(std::unique_ptr<Session> session);
  std::unique_ptr<Session> session_;
};

}  // namespace carina::observe
