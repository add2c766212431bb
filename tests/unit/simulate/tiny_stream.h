#pragma once

#include <string>
#include <vector>

#include "npu/payload.h"
#include "npu/registers.h"
#include "simulate/simulator.h"

namespace carina::simulate {

inline std::string error_of(const Result<Report>& result) {
  return result ? "no error" : to_string(result.error());
}

// Hand-made command streams of a few operations, for ethos-u55-128 by default, and also for ethos-u65-256 and
// ethos-u85-256. All maps are NHWC int8 in region 1.
class TinyStream {
 public:
  struct Map {
    int height = 1;
    int width = 1;
    int depth = 16;
    uint32_t base = 0;
  };

  explicit TinyStream(npu::Product product = npu::Product::kU55)
      : u85_(product == npu::Product::kU85), writer_(product, npu::StreamWriter::Writes::kAll) {}

  static constexpr int kMicroblock1x2 = 1 << 8;  // ACC_FORMAT of U85

  npu::StreamWriter& writer() { return writer_; }

  TinyStream& set(npu::Reg reg, int64_t value) {
    writer_.set(reg, value);
    return *this;
  }
  TinyStream& ifm(const Map& m) {
    using npu::Reg;
    set_addresses({Reg::IFM_BASE0, Reg::IFM_BASE1, Reg::IFM_BASE2, Reg::IFM_BASE3}, m);
    set(Reg::IFM_REGION, 1)
        .set(Reg::IFM_STRIDE_Y, m.width * m.depth)
        .set(Reg::IFM_STRIDE_X, m.depth)
        .set(Reg::IFM_STRIDE_C, 1);
    set(Reg::IFM_HEIGHT0_M1, m.height - 1)
        .set(Reg::IFM_HEIGHT1_M1, m.height - 1)
        .set(Reg::IFM_WIDTH0_M1, m.width - 1)
        .set(Reg::IFM_DEPTH_M1, m.depth - 1);
    set(Reg::IFM_PRECISION, 1).set(Reg::IFM_ZERO_POINT, 0).set(Reg::IFM_UPSCALE, 0);
    for (const Reg pad : {Reg::IFM_PAD_TOP, Reg::IFM_PAD_LEFT, Reg::IFM_PAD_RIGHT, Reg::IFM_PAD_BOTTOM}) set(pad, 0);
    return *this;
  }
  TinyStream& ifm2(const Map& m) {
    using npu::Reg;
    set_addresses({Reg::IFM2_BASE0, Reg::IFM2_BASE1, Reg::IFM2_BASE2, Reg::IFM2_BASE3}, m);
    set(Reg::IFM2_REGION, 1)
        .set(Reg::IFM2_STRIDE_Y, m.width * m.depth)
        .set(Reg::IFM2_STRIDE_X, m.depth)
        .set(Reg::IFM2_STRIDE_C, 1);
    set(Reg::IFM2_HEIGHT0_M1, m.height - 1)
        .set(Reg::IFM2_HEIGHT1_M1, m.height - 1)
        .set(Reg::IFM2_WIDTH0_M1, m.width - 1);
    set(Reg::IFM2_PRECISION, 1).set(Reg::IFM2_ZERO_POINT, 0).set(Reg::IFM2_BROADCAST, 0);
    if (!u85_) set(Reg::IFM2_IB_START, 6);
    return *this;
  }
  TinyStream& ofm(const Map& m) {
    using npu::Reg;
    set_addresses({Reg::OFM_BASE0, Reg::OFM_BASE1, Reg::OFM_BASE2, Reg::OFM_BASE3}, m);
    set(Reg::OFM_REGION, 1)
        .set(Reg::OFM_STRIDE_Y, m.width * m.depth)
        .set(Reg::OFM_STRIDE_X, m.depth)
        .set(Reg::OFM_STRIDE_C, 1);
    set(Reg::OFM_HEIGHT_M1, m.height - 1).set(Reg::OFM_WIDTH_M1, m.width - 1).set(Reg::OFM_DEPTH_M1, m.depth - 1);
    set(Reg::OFM_HEIGHT0_M1, m.height - 1).set(Reg::OFM_HEIGHT1_M1, m.height - 1).set(Reg::OFM_WIDTH0_M1, m.width - 1);
    // Signed 8 bit, global scale, natural rounding (U85 sets rounding in OFM_SCALE).
    set(Reg::OFM_PRECISION, u85_ ? 0x0101 : 0x8101).set(Reg::OFM_ZERO_POINT, 0);
    set(Reg::OFM_BLK_HEIGHT_M1, 0).set(Reg::OFM_BLK_WIDTH_M1, 1).set(Reg::OFM_BLK_DEPTH_M1, 15);
    set(Reg::ACTIVATION, 0).set(Reg::ACTIVATION_MIN, -128).set(Reg::ACTIVATION_MAX, 127);
    set(Reg::ACC_FORMAT, u85_ ? kMicroblock1x2 : 0).set(Reg::BLOCKDEP, 0);
    set(Reg::KERNEL_HEIGHT_M1, 0).set(Reg::KERNEL_WIDTH_M1, 0).set(Reg::KERNEL_STRIDE, 0);
    if (!u85_) set(Reg::IFM_IB_END, 10).set(Reg::AB_START, 14);
    scale(1, 0);
    return *this;
  }
  // Sets the scale of the output, rounded half up.
  TinyStream& scale(uint32_t multiplier, uint16_t shift) {
    writer_.set(npu::Reg::OFM_SCALE, static_cast<uint16_t>(u85_ ? shift | 1 << 13 : shift), multiplier);
    return *this;
  }
  TinyStream& copy_pool() {
    writer_.op(npu::Op::POOL, 1);
    return *this;
  }
  TinyStream& op(npu::Op op, uint16_t param = 0) {
    writer_.op(op, param);
    return *this;
  }
  TinyStream& dma(int from_region, uint32_t from, int to_region, uint32_t to, uint32_t bytes) {
    using npu::Reg;
    set(Reg::DMA0_SRC_REGION, from_region)
        .set(Reg::DMA0_SRC, from)
        .set(Reg::DMA0_DST_REGION, to_region)
        .set(Reg::DMA0_DST, to)
        .set(Reg::DMA0_LEN, bytes);
    return op(npu::Op::DMA_START);
  }
  // The offset of the next command in bytes, the unit of branches.
  [[nodiscard]] uint32_t here() const { return static_cast<uint32_t>(4 * writer_.word_count()); }
  // Appends STOP and returns the payload.
  std::vector<std::byte> payload(std::string_view npu = "ethos-u55-128", uint16_t mask = 0xFFFF) {
    writer_.op(npu::Op::STOP, mask);
    return npu::build_payload(*npu::find_accelerator(npu), writer_.words());
  }

 private:
  void set_addresses(const std::array<npu::Reg, 4>& base, const Map& m) {
    for (size_t i = 0; i < 4; ++i) set(base[i], i == 0 ? m.base : 0);
  }
  bool u85_;
  npu::StreamWriter writer_;
};

}  // namespace carina::simulate
