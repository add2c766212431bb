#pragma once

#include <memory>

#include "simulate/kernels/work.h"

// Fast execution of operations with SIMD kernels.
namespace carina::simulate {

// Rows by columns of the OFM.
struct PatchSize {
  int32_t rows = 1;
  int32_t columns = 1;
};

// A patch with about this many positions. It consists of whole rows if `positions` is enough for one.
PatchSize patch_of(const Extent& ofm, int64_t positions);

// The fast execution of an operation: SIMD kernels on narrow dense types. The results have the same bits as those of
// execute_scalar().
class FastOperation {
 public:
  // Returns nullptr if only the scalar kernels can execute it (rare types, accumulators that might overflow). `work`
  // must outlive the result.
  static std::unique_ptr<FastOperation> make(const Work& work);
  virtual ~FastOperation() = default;
  // May be called for several patches at the same time.
  virtual void execute(const Patch& patch) const = 0;
  // The patch size at which buffers stay in the cache.
  [[nodiscard]] virtual PatchSize patch_size() const = 0;
};

std::unique_ptr<FastOperation> make_fast_windowed(const Work& work);
std::unique_ptr<FastOperation> make_fast_elementwise(const Work& work);  // 8 bits
std::unique_ptr<FastOperation> make_fast_rows(const Work& work);         // elementwise, any width
std::unique_ptr<FastOperation> make_fast_resize(const Work& work);
std::unique_ptr<FastOperation> make_fast_reduce_sum(const Work& work);

// The position of a RESIZE output between two input positions. Source: docs/facts/ethosu.md 4.7.
struct ResizePoint {
  int64_t low;
  int64_t high;
  int64_t fraction;
};
ResizePoint resize_point(int32_t o, const ResizeStep& step, int32_t size);

// The largest magnitude of an operand after its zero point is subtracted.
int64_t largest_magnitude(const FeatureMap& map);

}  // namespace carina::simulate
