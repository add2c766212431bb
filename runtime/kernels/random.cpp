#include <cmath>
#include <numbers>

#include "runtime/kernels/call_internal.h"
#include "runtime/kernels/domain_internal.h"
#include "runtime/kernels/kernels_internal.h"
#include "runtime/kernels/layout.h"

namespace carina::runtime {

namespace {

// The state of the process-wide sequence. It begins with the seed, so runs are reproducible.
constinit uint64_t random_state = 0;

// splitmix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators").
uint64_t next_bits() {
  random_state += 0x9e3779b97f4a7c15U;
  uint64_t bits = random_state;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111ebU;
  return bits ^ bits >> 31;
}

// A uniform number in [0, 1), with the precision of a float.
double uniform() {
  return static_cast<double>(next_bits() >> 40) * 0x1p-24;
}

// A normal number by the Box-Muller transform.
double normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

// (size, out)
Error draw(Arguments arguments, double (*number)()) {
  Call call(arguments);
  const std::span<const int64_t> sizes = call.integers(0);
  const Tensor& out = call.out(1);
  call.fit(out, sizes);
  call.support(is_floating(out.type));
  CARINA_RT_TRY(call.error());
  const auto write = Numbers::writer(out);
  for (size_t i = 0; i < out.elements(); ++i) write(static_cast<int64_t>(i), number());
  return Error::kOk;
}

}  // namespace

void seed_random(uint64_t seed) {
  random_state = seed;
}

Error rand(Arguments arguments, Arena& /*scratch*/) {
  return draw(arguments, uniform);
}
Error randn(Arguments arguments, Arena& /*scratch*/) {
  return draw(arguments, normal);
}

// (input, p, train or None, out, mask): kept elements are multiplied by 1 / (1 - p)
Error native_dropout(Arguments arguments, Arena& /*scratch*/) {
  Call call(arguments);
  const Tensor& in = call.tensor(0);
  const double p = call.number(1);
  const bool train = call.is_none(2) || call.flag(2);
  const Tensor &out = call.out(3), &mask = call.out(4);
  call.fit_like(out, in);
  call.fit_like(mask, in);
  call.require(p >= 0 && p <= 1 && in.type == out.type && same_layout(in, out) && same_layout(in, mask));
  call.support(is_floating(in.type) && mask.type == PteScalarType::kBool);
  CARINA_RT_TRY(call.error());
  const auto read = Numbers::reader(in);
  const auto write = Numbers::writer(out);
  const double scale = p < 1 ? 1 / (1 - p) : 0;
  for (size_t i = 0; i < in.elements(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const bool kept = !train || p == 0 || uniform() >= p;
    mask.as<uint8_t>()[i] = kept ? 1 : 0;
    write(at, !train || p == 0 ? read(at) : kept ? read(at) * scale : 0);
  }
  return Error::kOk;
}

}  // namespace carina::runtime
