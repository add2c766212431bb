#include <algorithm>
#include <array>

#include "plan/select/convolution_internal.h"
#include "plan/select/emit_internal.h"
#include "plan/select/rules.h"
#include "plan/select/weights_internal.h"

// CONV3D as 2D convolutions over images whose pixels hold the channels of several planes. One operation also sums over
// the planes, in the accumulators. Padding planes in front and after are left out of the sum.
namespace carina::plan {
namespace {

// The geometry along the axis of planes.
struct Planes {
  int64_t inputs = 1;
  int64_t outputs = 1;
  int64_t taps = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t before = 0;
};

// Consecutive outputs that read through the same taps.
struct PlaneRun {
  int64_t first_output = 0;
  int64_t outputs = 1;
  int64_t first_tap = 0;
  int64_t taps = 0;  // 0: only padding
  int64_t first_input = 0;
};

PlaneRun run_at(const Planes& p, int64_t output) {
  PlaneRun run{.first_output = output};
  const int64_t start = output * p.stride - p.before;
  for (int64_t tap = 0; tap < p.taps; ++tap) {
    const int64_t plane = start + tap * p.dilation;
    if (plane < 0 || plane >= p.inputs) continue;
    if (run.taps++ == 0) {
      run.first_tap = tap;
      run.first_input = plane;
    }
  }
  return run;
}

std::vector<PlaneRun> runs_of(const Planes& p) {
  std::vector<PlaneRun> runs;
  for (int64_t output = 0; output < p.outputs; ++output) {
    const PlaneRun run = run_at(p, output);
    const bool continues = !runs.empty() && runs.back().taps == run.taps && runs.back().first_tap == run.first_tap;
    if (continues)
      ++runs.back().outputs;
    else
      runs.push_back(run);
  }
  return runs;
}

// The images of a run as a batch. `laid` is [N,H,W,D,C] with the channels of a pixel's planes contiguous.
View images_of(const View& laid, int64_t n, const Planes& p, const PlaneRun& run) {
  const Axis& planes = laid.axes[3];
  View images = at(laid, n);
  images.offset += run.first_input * planes.stride;
  const int64_t channels = laid.axes[4].size;
  const int64_t span = run.taps == 0 ? 1 : (run.taps - 1) * p.dilation + 1;
  const int64_t step = run.taps == 0 ? 0 : p.stride * planes.stride;
  images.axes = {{run.outputs, step}, laid.axes[1], laid.axes[2], {span * channels, 1}};
  return images;
}

// Converts the kernel's planes of a run to channels: [O,KH,KW,span * C], zero for the planes between.
void take_planes(Convolution& c, const std::vector<int16_t>& weights, const Shape& shape, const Planes& p,
                 const PlaneRun& run) {
  const int64_t out = shape[0], taps = shape[2] * shape[3], in = shape[4];
  const int64_t span = run.taps == 0 ? 1 : (run.taps - 1) * p.dilation + 1;
  c.weight_shape = {out, shape[2], shape[3], span * in};
  std::vector<int16_t> taken(static_cast<size_t>(c.weight_shape.elements()), 0);
  for (int64_t o = 0; o < out; ++o) {
    for (int64_t plane = 0; plane < run.taps; ++plane) {
      for (int64_t tap = 0; tap < taps; ++tap) {
        const auto from = weights.begin() + ((o * shape[1] + run.first_tap + plane) * taps + tap) * in;
        std::copy_n(from, in, taken.begin() + ((o * taps + tap) * span + plane * p.dilation) * in);
      }
    }
  }
  c.weights = taken;
}

// [N,H,W,D,C] with contiguous channels and, if a sum covers several planes, contiguous planes.
View lay_planes(Selection& s, const Operand& x, const Planes& p) {
  const View moved = permuted(x.view, std::array<int64_t, 5>{0, 2, 3, 1, 4});
  const int64_t channels = moved.axes[4].size;
  const bool dense_channels = channels == 1 || moved.axes[4].stride == 1;
  const bool side_by_side = p.inputs == 1 || moved.axes[3].stride == channels;
  if (dense_channels && (p.taps == 1 || side_by_side)) return moved;
  const View laid = s.new_tensor("planes", moved.shape(), x.type);
  emit_copy(s, laid, moved, x.type);
  return laid;
}

struct Convolution3D {
  Convolution images = {};  // shared by all runs
  WeightValues weights = {};
  Shape weight_shape = {};
  std::vector<int64_t> biases = {};
  Planes planes = {};
};

Result<Convolution3D> read_convolution_3d(Selection& s) {
  CARINA_CHECKED(check_convolution_types(s));
  const ir::Attributes& attributes = s.node().attributes;
  const auto& pad = attributes.integers("pad");
  const auto& stride = attributes.integers("stride");
  const auto& dilation = attributes.integers("dilation");
  Convolution3D c{.weight_shape = s.shape(s.input(1))};
  CARINA_TRY(c.weights, read_weights(s));
  CARINA_TRY(c.biases, biases_of(s, s.input(2), c.weight_shape[0]));
  CARINA_TRY(c.images.ifm.zero_point, s.constant_scalar(s.input(3), "input zero point"));
  c.images.kernel = {.height = c.weight_shape[2],
                     .width = c.weight_shape[3],
                     .stride_y = stride[1],
                     .stride_x = stride[2],
                     .dilation_y = dilation[1],
                     .dilation_x = dilation[2]};
  c.images.padding = {.top = pad[2], .bottom = pad[3], .left = pad[4], .right = pad[5]};
  c.planes = {.inputs = s.shape(s.input(0))[1],
              .outputs = s.shape(s.output())[1],
              .taps = c.weight_shape[1],
              .stride = stride[0],
              .dilation = dilation[0],
              .before = pad[0]};
  return c;
}

Result<void> emit_runs(Selection& s, const Convolution3D& c, const View& laid, const View& out,
                       const Epilogue& epilogue) {
  const std::vector<int16_t> weights = c.weights.widened();
  for (const PlaneRun& run : runs_of(c.planes)) {
    Convolution images = c.images;
    take_planes(images, weights, c.weight_shape, c.planes, run);
    for (int64_t n = 0; n < laid.axes[0].size && !s.is_full(); ++n) {
      images.ifm.view = images_of(laid, n, c.planes, run);
      const View ofm = sliced_axis(at(out, n), 0, run.first_output, run.outputs);
      CARINA_CHECKED(emit_convolution(s, StepKind::kConv, images, c.biases, ofm, epilogue));
    }
  }
  return {};
}

}  // namespace

Result<void> select_convolution_3d(Selection& s) {
  CARINA_TRY(Convolution3D c, read_convolution_3d(s));
  const Operand x = s.plain(s.input(0));
  c.images.ifm.type = x.type;
  const View laid = lay_planes(s, x, c.planes);
  CARINA_TRY(const std::vector<Epilogue> epilogues, epilogues_of(s));
  for (const Epilogue& epilogue : epilogues) {
    const View out = s.open(epilogue.value, s.shape(s.output()));
    CARINA_CHECKED(emit_runs(s, c, laid, out, epilogue));
    s.close(epilogue.value, out, epilogue.type);
  }
  return {};
}

}  // namespace carina::plan
