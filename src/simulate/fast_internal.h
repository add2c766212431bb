#pragma once

#include <memory>

#include "simulate/work_internal.h"

namespace carina::simulate {

// Rows by columns of the OFM.
struct PatchSize {
  int32_t rows = 1;
  int32_t columns = 1;
};

// Of about so many positions: whole rows, where there are enough for one.
PatchSize patch_of(const Extent& ofm, int64_t positions);

// The fast way to execute an operation: SIMD kernels on small dense types. Gives the bits of execute_scalar().
class FastOperation {
 public:
  // Nothing when only the scalar kernels can do it (rare types, accumulators that might not fit). `work` must outlive
  // it.
  static std::unique_ptr<FastOperation> make(const Work& work);
  virtual ~FastOperation() = default;
  // May be called for several patches at the same time.
  virtual void execute(const Patch& patch) const = 0;
  // How much should be done together, so that buffers stay in the cache.
  [[nodiscard]] virtual PatchSize together() const = 0;
};

std::unique_ptr<FastOperation> make_fast_windowed(const Work& work);
std::unique_ptr<FastOperation> make_fast_elementwise(const Work& work);  // 8 bits
std::unique_ptr<FastOperation> make_fast_rows(const Work& work);         // elementwise, any width
std::unique_ptr<FastOperation> make_fast_resize(const Work& work);

// Where an output position of RESIZE falls between two input positions. Source: docs/facts/ethosu.md 4.7.
struct ResizePoint {
  int64_t low;
  int64_t high;
  int64_t fraction;
};
ResizePoint resize_point(int32_t o, const ResizeStep& step, int32_t size);

// The largest magnitude of an operand after its zero point is subtracted.
int64_t largest_magnitude(const FeatureMap& map);

}  // namespace carina::simulate
