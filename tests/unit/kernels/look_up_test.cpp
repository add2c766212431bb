// Tables of bytes on every processor: all bytes, and all rests of vectors.

#include <algorithm>
#include <array>
#include <random>
#include <vector>

#include "every_target.h"
#include "kernels/micro/microkernels.h"

namespace carina::kernels {

namespace {

TEST(LookUp, each_byte_gives_its_entry) {
  std::mt19937 random(3);
  std::uniform_int_distribution<int> any(-128, 127);
  std::array<int8_t, 256> table{};
  std::ranges::generate(table, [&] { return static_cast<int8_t>(any(random)); });
  std::vector<int8_t> in(600);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<int8_t>(i < 256 ? static_cast<int>(i) - 128 : any(random));
  testing::on_every_target([&] {
    for (const size_t count : {size_t{0}, size_t{1}, size_t{63}, size_t{128}, size_t{255}, in.size()}) {
      std::vector<int8_t> out(in.size(), 77);
      look_up(table.data(), in.data(), out.data(), static_cast<int64_t>(count));
      for (size_t i = 0; i < in.size(); ++i)
        ASSERT_EQ(i < count ? table[static_cast<size_t>(in[i] + 128)] : 77, out[i]) << i << " of " << count;
    }
  });
}

}  // namespace

}  // namespace carina::kernels
