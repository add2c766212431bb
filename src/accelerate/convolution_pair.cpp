// A pointwise convolution and the depthwise convolution after it, computed together for some channels at a time. The
// intermediate tensor stays in the second-level cache.
#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "accelerate/convolution_internal.h"

namespace carina::accelerate {

namespace {

class ConvolutionPair final : public Step {
 public:
  ConvolutionPair(std::unique_ptr<Convolution> first, std::unique_ptr<Convolution> second)
      : first_(std::move(first)), second_(std::move(second)) {
    if (overlap(first_->in(), second_->out())) own_.resize(second_->out().elements());
  }

  void run(ThreadPool& pool) override {
    const Geometry &a = first_->geometry(), &b = second_->geometry();
    auto* out = own_.empty() ? second_->out().as<float>() : own_.data();
    const int64_t step = channels_together(pool.threads()), parts = (b.channels + step - 1) / step;
    pool.parallel_for(static_cast<size_t>(a.batch * parts), [&](size_t unit) {
      const int64_t n = static_cast<int64_t>(unit) / parts, begin = static_cast<int64_t>(unit) % parts * step;
      const int64_t count = std::min(step, b.channels - begin);
      thread_local std::vector<float> between;
      between.resize(static_cast<size_t>(count * b.plane.in_elems()));
      first_->run_rows(first_->in().as<const float>() + n * a.channels * a.plane.in_elems(), begin, count,
                       between.data());
      second_->run_planes(between.data(), begin, count, out + (n * b.out_channels + begin) * b.plane.out_elems());
    });
    if (!own_.empty()) std::memcpy(second_->out().data, own_.data(), own_.size() * sizeof(float));
  }

 private:
  [[nodiscard]] int64_t channels_together(int threads) const {
    constexpr int64_t kCacheFloats = 64 * 1024;
    const Geometry& g = second_->geometry();
    const int64_t fit = std::min(kCacheFloats / g.plane.in_elems(), (g.channels + threads - 1) / threads);
    // Whole panels, or half a panel.
    return fit < kPanelRows ? kPanelRows / 2 : fit / kPanelRows * kPanelRows;
  }

  std::unique_ptr<Convolution> first_, second_;
  std::vector<float> own_;  // used if the output would overwrite the input
};

}  // namespace

std::unique_ptr<Step> make_convolution_pair(const ConvolutionCall& first, const ConvolutionCall& second) {
  const auto a = geometry_of(first.arguments, first.tail), b = geometry_of(second.arguments, second.tail);
  if (!a || !b || !a->is_pointwise() || a->groups != 1 || !b->is_depthwise() || b->group_out() != 1) return nullptr;
  return std::make_unique<ConvolutionPair>(std::make_unique<Convolution>(*a, first.arguments, first.tail),
                                           std::make_unique<Convolution>(*b, second.arguments, second.tail));
}

}  // namespace carina::accelerate
