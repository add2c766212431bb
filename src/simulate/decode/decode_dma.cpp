#include <algorithm>

#include "simulate/decode/decode_parts_internal.h"

namespace carina::simulate {

Result<Operation> decode_dma(const npu::RegisterFile& r) {
  Operation op{.kind = OperationKind::kDma, .name = "DMA"};
  DmaTransfer& d = op.dma;
  d.source = base_at(r, Reg::DMA0_SRC);
  d.destination = base_at(r, Reg::DMA0_DST);
  d.length = base_at(r, Reg::DMA0_LEN);
  d.source_region = static_cast<uint8_t>(FIELD(DMA0_SRC_REGION, "region"));
  d.destination_region = static_cast<uint8_t>(FIELD(DMA0_DST_REGION, "region"));
  d.source_internal = FIELD(DMA0_SRC_REGION, "region_mode") != 0;
  d.destination_internal = FIELD(DMA0_DST_REGION, "region_mode") != 0;
  if (r.product() == Product::kU55) {
    if (FIELD_U55(DMA0_SRC_REGION, "custom_dma_cs") != 0 || FIELD_U55(DMA0_DST_REGION, "custom_dma_cs") != 0) {
      return fail(bad_value("DMA0_SRC_REGION", "custom_dma_cs", 1, "0: there is no custom DMA"));
    }
    return op;
  }
  CARINA_TRY(const auto source_stride, VALUE_U55(DmaStrideMode, DMA0_SRC_REGION, "stride_mode"));
  const auto source_mode = static_cast<uint32_t>(source_stride);
  uint32_t destination_mode = 0;
  if (r.product() == Product::kU65) {
    CARINA_TRY(const auto stride, VALUE_U55(DmaStrideMode, DMA0_DST_REGION, "stride_mode"));
    destination_mode = static_cast<uint32_t>(stride);
  }
  const uint32_t mode = std::max(source_mode, destination_mode);
  d.dimensions = static_cast<int>(mode) + 1;
  if (mode >= 1) d.count0 = static_cast<int64_t>(FIELD(DMA0_SIZE0, "size"));
  if (mode >= 2) d.count1 = static_cast<int64_t>(FIELD(DMA0_SIZE1, "size"));
  if (npu::is_u85(r.product())) {
    d.gather = FIELD_U85(DMA0_SRC_REGION, "idx_mode") != 0;
    d.scatter = FIELD_U85(DMA0_DST_REGION, "idx_mode") != 0;
    d.source_stride0 = r.address(Reg::DMA0_SRC_STRIDE0);
    d.source_stride1 = r.address(Reg::DMA0_SRC_STRIDE1);
    d.destination_stride0 = r.address(Reg::DMA0_DST_STRIDE0);
    d.destination_stride1 = r.address(Reg::DMA0_DST_STRIDE1);
    d.index = base_at(r, Reg::DMA0_IDX);
    d.index_region = static_cast<uint8_t>(FIELD_U85(DMA0_IDX_REGION, "region"));
    d.index_max = static_cast<int64_t>(FIELD_U85(DMA0_IDX_MAX, "idx_max"));
    d.index_skip1 = r.address(Reg::DMA0_IDX_SKIP1);
    return op;
  }
  // U65: SKIP is the gap after each row (0) and each plane (1), on the sides whose stride mode has that dimension; the
  // other side is packed (docs/npu-open-points.md).
  const auto strides = [&](uint32_t side, int64_t& stride0, int64_t& stride1) {
    stride0 = static_cast<int64_t>(d.length) + (side >= 1 ? r.address(Reg::DMA0_SKIP0) : 0);
    stride1 = d.count0 * stride0 + (side >= 2 ? r.address(Reg::DMA0_SKIP1) : 0);
  };
  strides(source_mode, d.source_stride0, d.source_stride1);
  strides(destination_mode, d.destination_stride0, d.destination_stride1);
  return op;
}

}  // namespace carina::simulate
