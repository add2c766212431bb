#include "quantize/layer_statistics_internal.h"

#include <algorithm>

#include "base/parallel/parallel.h"
#include "quantize/vectors_internal.h"

// Statistics of what each weight of a layer is multiplied by. Bias correction needs the means; rounding for the inputs
// needs the products of each pair of inputs too.
//
//   Example: a 3x3 convolution with 64 input channels has 576 inputs per position. Of an output image of 56 x 56 =
//   3,136 positions, 512 are sampled, one of each 6.1. Means are 512 * 576 additions per sample. Products are 512 *
//   576^2 = 170 million multiplications. A layer with more inputs than a block holds keeps only the pairs inside of
//   each block, and samples fewer positions: time then grows with the inputs and not with their square.
//
// Positions are evenly spaced, so the result is the same on every machine and for any number of threads. Padding counts
// as 0, as the convolution reads it. Means alone add whole pixels without gathering windows. Source of the use: Frantar
// et al., GPTQ, 2022; docs/adr/0034.
namespace carina::quantize {

namespace {

constexpr int64_t kMaxPositions = 512;  // positions per run, enough for means within a few percent
// Products of more inputs than a block holds are taken at fewer positions, so that their time grows with the inputs and
// not with their square.
constexpr int64_t kMinPositions = 32;

struct Window {
  int64_t rows, columns;
  std::vector<int64_t> pad, stride, dilation;
  Shape image;   // [N,H,W,C]
  Shape output;  // [N,H,W,O]
};

bool is_depthwise(const observe::WeightedLayer& layer) {
  return layer.convolution.op == ir::Op(TosaOp::DEPTHWISE_CONV2D);
}

Window window_of(const observe::WeightedLayer& layer, const Shape& image) {
  const ir::Attributes& attributes = layer.convolution.attributes;
  const size_t first = is_depthwise(layer) ? 0 : 1;
  return {.rows = layer.weight[first],
          .columns = layer.weight[first + 1],
          .pad = attributes.integers("pad"),
          .stride = attributes.integers("stride"),
          .dilation = attributes.integers("dilation"),
          .image = image,
          .output = layer.output};
}

// A pixel of the output image.
struct Position {
  int64_t n, y, x;
};
int64_t count_seen(const Window& w, int64_t max = kMaxPositions) {
  return std::min(w.output[0] * w.output[1] * w.output[2], max);
}
// Returns at most `max` sampled positions, evenly spaced over the output image.
std::vector<Position> sampled_positions(const Window& w, int64_t max = kMaxPositions) {
  const int64_t all = w.output[0] * w.output[1] * w.output[2], count = count_seen(w, max);
  std::vector<Position> positions;
  positions.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t position = i * all / count;
    positions.push_back({.n = position / w.output[2] / w.output[1],
                         .y = position / w.output[2] % w.output[1],
                         .x = position % w.output[2]});
  }
  return positions;
}

// Copies the inputs of the window at a position, in the channels from `first`. Padding is 0.
void gather(const Window& w, const float* image, const Position& position, int64_t first, int64_t channels,
            float* patch) {
  const int64_t height = w.image[1], width = w.image[2], depth = w.image[3];
  for (int64_t kh = 0; kh < w.rows; ++kh) {
    for (int64_t kw = 0; kw < w.columns; ++kw) {
      const int64_t row = position.y * w.stride[0] - w.pad[0] + kh * w.dilation[0];
      const int64_t column = position.x * w.stride[1] - w.pad[2] + kw * w.dilation[1];
      const bool inside = row >= 0 && row < height && column >= 0 && column < width;
      const float* pixel = image + ((position.n * height + row) * width + column) * depth + first;
      for (int64_t c = 0; c < channels; ++c) patch[(c * w.rows + kh) * w.columns + kw] = inside ? pixel[c] : 0.0F;
    }
  }
}

// Returns the inputs of one tap at the sampled positions; nullptr for padding.
std::vector<const float*> pixels_of(const Window& w, const float* image, const std::vector<Position>& positions,
                                    int64_t tap) {
  std::vector<const float*> pixels;
  pixels.reserve(positions.size());
  for (const Position& position : positions) {
    const int64_t row = position.y * w.stride[0] - w.pad[0] + tap / w.columns * w.dilation[0];
    const int64_t column = position.x * w.stride[1] - w.pad[2] + tap % w.columns * w.dilation[1];
    const bool inside = row >= 0 && row < w.image[1] && column >= 0 && column < w.image[2];
    pixels.push_back(inside ? image + ((position.n * w.image[1] + row) * w.image[2] + column) * w.image[3] : nullptr);
  }
  return pixels;
}

// The sums of the inputs of each tap over the sampled window positions, per channel: [row, column, channel].
std::vector<double> sums_of(const Window& w, std::span<const float> image) {
  const auto depth = static_cast<size_t>(w.image[3]);
  const std::vector<Position> positions = sampled_positions(w);
  std::vector<double> sums(static_cast<size_t>(w.rows * w.columns) * depth, 0);
  parallel_for(static_cast<size_t>(w.rows * w.columns), [&](size_t tap) {
    add_pixels(pixels_of(w, image.data(), positions, static_cast<int64_t>(tap)), depth, sums.data() + tap * depth);
  });
  return sums;
}

std::vector<float> patches_of(const Window& w, std::span<const float> image, int64_t first, int64_t channels) {
  const auto terms = static_cast<size_t>(channels * w.rows * w.columns);
  const auto blocks = static_cast<int64_t>(blocks_of(terms).size());
  const std::vector<Position> positions = sampled_positions(w, std::max(kMaxPositions / blocks, kMinPositions));
  std::vector<float> patches(positions.size() * terms);
  for (size_t i = 0; i < positions.size(); ++i)
    gather(w, image.data(), positions[i], first, channels, patches.data() + i * terms);
  return patches;
}

}  // namespace

std::vector<TermBlock> blocks_of(size_t terms) {
  const size_t count = std::max<size_t>((terms + kMaxBlockTerms - 1) / kMaxBlockTerms, 1);
  std::vector<TermBlock> blocks;
  for (size_t b = 0; b < count; ++b) {
    const size_t first = b * terms / count;
    blocks.push_back({.first = first, .terms = (b + 1) * terms / count - first});
  }
  return blocks;
}

namespace {

// The row stride of a block's products, in elements.
size_t stride_of(const TermBlock& block) {
  return (block.terms + kRowGroup - 1) / kRowGroup * kRowGroup;
}

}  // namespace

InputStatistics::InputStatistics(size_t terms, Gathered gathered) : sums_(terms, 0), blocks_(blocks_of(terms)) {
  if (gathered != Gathered::kProducts) return;
  for (const TermBlock& block : blocks_) products_.emplace_back(block.terms * stride_of(block), 0.0F);
}

void InputStatistics::add(const std::vector<float>& patches) {
  const size_t count = sums_.empty() ? 0 : patches.size() / sums_.size();
  for (size_t p = 0; p < count; ++p) {
    for (size_t i = 0; i < terms(); ++i) sums_[i] += patches[p * terms() + i];
  }
  count_ += count;
  parallel_for(products_.size(), [&](size_t b) {
    const TermBlock& block = blocks_[b];
    const size_t stride = stride_of(block);
    std::vector<float> padded(count * stride, 0);
    for (size_t p = 0; p < count; ++p)
      std::copy_n(patches.data() + p * terms() + block.first, block.terms, padded.data() + p * stride);
    add_outer_products(padded.data(), count, stride, block.terms, products_[b].data());
  });
}

void InputStatistics::add(const TapSums& sums, size_t first, size_t count) {
  const size_t taps = sums.of.size() / sums.channels;
  for (size_t i = 0; i < sums_.size(); ++i) sums_[i] += sums.of[i % taps * sums.channels + first + i / taps];
  count_ += count;
}

std::vector<double> InputStatistics::means() const {
  std::vector<double> means(sums_);
  for (double& mean : means) mean /= static_cast<double>(std::max<size_t>(count_, 1));
  return means;
}

std::vector<double> InputStatistics::covariance(size_t block) const {
  const auto [first, size] = blocks_[block];
  const std::vector<float>& products = products_[block];
  const std::vector<double> mean = means();
  std::vector<double> result(size * size);
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      const double product = static_cast<double>(products[i * stride_of(blocks_[block]) + j]) /
                             static_cast<double>(std::max<size_t>(count_, 1));
      result[i * size + j] = result[j * size + i] = product - mean[first + i] * mean[first + j];
    }
  }
  return result;
}

void LayerStatistics::see(const observe::WeightedLayer& layer, const Tensor& image, Gathered gathered) {
  if (image.dtype != DType::kFp32 || image.shape.rank() != 4) return;
  const Window window = window_of(layer, image.shape);
  const bool depthwise = is_depthwise(layer);
  const int64_t channels = image.shape[3], each = depthwise ? 1 : channels;
  const size_t count = depthwise ? static_cast<size_t>(channels) : 1;
  const size_t terms = static_cast<size_t>(each * window.rows * window.columns);
  const size_t first = depthwise ? 0 : layer.part;
  while (groups.size() < first + count) groups.emplace_back(terms, gathered);
  const auto values = image.values<float>();
  const std::vector<double> sums = gathered == Gathered::kMeans ? sums_of(window, values) : std::vector<double>();
  for (size_t g = 0; g < count; ++g) {
    const int64_t from = static_cast<int64_t>(g) * each;
    if (sums.empty())
      groups[first + g].add(patches_of(window, values, from, each));
    else
      groups[first + g].add({.of = sums, .channels = static_cast<size_t>(channels)}, static_cast<size_t>(from),
                            static_cast<size_t>(count_seen(window)));
  }
}

}  // namespace carina::quantize
