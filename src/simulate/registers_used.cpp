#include "simulate/registers_used_internal.h"

#include <fmt/format.h>

#include <array>
#include <initializer_list>

#include "simulate/kernels/work.h"

// Which registers an operation uses. A stream that leaves one of them unset works on the simulator, where it reads as
// 0, and on an NPU whose stream before left the right value there.
//   Example: a convolution of ethos-u55 uses the weight and scale registers, but neither those of IFM2 nor, with a
//   scale per channel, OFM_SCALE.
namespace carina::simulate {

namespace {

using npu::Product;
using npu::Reg;

void add(RegisterSet& set, std::initializer_list<Reg> registers) {
  for (const Reg reg : registers) set.set(static_cast<size_t>(reg));
}

constexpr std::initializer_list<Reg> kIfmAddress{Reg::IFM_REGION,     Reg::IFM_BASE0,     Reg::IFM_BASE1,
                                                 Reg::IFM_BASE2,      Reg::IFM_BASE3,     Reg::IFM_STRIDE_X,
                                                 Reg::IFM_STRIDE_Y,   Reg::IFM_STRIDE_C,  Reg::IFM_WIDTH0_M1,
                                                 Reg::IFM_HEIGHT0_M1, Reg::IFM_HEIGHT1_M1};
constexpr std::initializer_list<Reg> kIfm2Address{Reg::IFM2_REGION,     Reg::IFM2_BASE0,     Reg::IFM2_BASE1,
                                                  Reg::IFM2_BASE2,      Reg::IFM2_BASE3,     Reg::IFM2_STRIDE_X,
                                                  Reg::IFM2_STRIDE_Y,   Reg::IFM2_STRIDE_C,  Reg::IFM2_WIDTH0_M1,
                                                  Reg::IFM2_HEIGHT0_M1, Reg::IFM2_HEIGHT1_M1};
constexpr std::initializer_list<Reg> kOfmAddress{Reg::OFM_REGION,     Reg::OFM_BASE0,     Reg::OFM_BASE1,
                                                 Reg::OFM_BASE2,      Reg::OFM_BASE3,     Reg::OFM_STRIDE_X,
                                                 Reg::OFM_STRIDE_Y,   Reg::OFM_STRIDE_C,  Reg::OFM_WIDTH0_M1,
                                                 Reg::OFM_HEIGHT0_M1, Reg::OFM_HEIGHT1_M1};

// An operand or result that is in memory or in a chaining buffer.
void add_map(RegisterSet& set, const FeatureMap& map, std::initializer_list<Reg> address,
             std::initializer_list<Reg> others) {
  add(set, others);
  if (map.storage == Storage::kTile2x2 || map.storage == Storage::kTile3x1) add(set, address);
}

void add_second_operand(RegisterSet& set, const Operation& op) {
  const bool is_scalar = op.kind == OperationKind::kElementwise && !op.is_unary() && op.ifm2_broadcast.scalar;
  if (!is_scalar && !op.reads_ifm2()) return;
  add(set, {Reg::IFM2_PRECISION, Reg::IFM2_ZERO_POINT, Reg::IFM2_BROADCAST});
  if (is_scalar)
    add(set, {op.u85 ? Reg::OP_SCALAR : Reg::IFM2_SCALAR});
  else
    add_map(set, op.ifm2, kIfm2Address, {});
}

void add_scales(RegisterSet& set, const Operation& op) {
  if (op.u85 || !op.per_channel) add(set, {Reg::OFM_SCALE});
  if (op.kind != OperationKind::kElementwise) return;
  if (op.u85) {
    if (op.elementwise == ElementwiseMode::kMul) return;
    add(set, {Reg::IFM_SCALE});
    if (!op.is_unary()) add(set, {Reg::IFM2_SCALE});
  } else if (op.elementwise == ElementwiseMode::kAdd || op.elementwise == ElementwiseMode::kSub) {
    add(set, {Reg::OPA_SCALE});
    if (op.operand_scaling == OperandScaling::kBoth16) add(set, {Reg::OPB_SCALE});
  }
}

void add_weights(RegisterSet& set, const Operation& op) {
  constexpr std::array<std::array<Reg, 2>, 4> kStreams{{{Reg::WEIGHT_BASE, Reg::WEIGHT_LENGTH},
                                                        {Reg::WEIGHT1_BASE, Reg::WEIGHT1_LENGTH},
                                                        {Reg::WEIGHT2_BASE, Reg::WEIGHT2_LENGTH},
                                                        {Reg::WEIGHT3_BASE, Reg::WEIGHT3_LENGTH}}};
  if (op.has_weights()) {
    add(set, {Reg::WEIGHT_REGION});
    if (op.u85) add(set, {Reg::WEIGHT_FORMAT});
    for (size_t s = 0; s < static_cast<size_t>(op.weight_streams); ++s) add(set, {kStreams[s][0], kStreams[s][1]});
  }
  if (!uses_scale_table(op)) return;
  add(set, {Reg::SCALE_REGION, Reg::SCALE_BASE, Reg::SCALE_LENGTH});
  if (op.cores > 1) add(set, {Reg::SCALE1_BASE, Reg::SCALE1_LENGTH});
}

// What only some products have.
void add_of_product(RegisterSet& set, const Operation& op, Product product) {
  if (op.u85) {
    add(set, {Reg::IFM_BROADCAST});
    if (op.kind == OperationKind::kResize) {
      add(set, {Reg::RESIZE_X_SCALE_N_M1, Reg::RESIZE_X, Reg::RESIZE_X_OFFSET, Reg::RESIZE_Y_SCALE_N_M1, Reg::RESIZE_Y,
                Reg::RESIZE_Y_OFFSET});
    }
    return;
  }
  add(set, {Reg::IFM_IB_END, Reg::AB_START});
  if (op.kind == OperationKind::kElementwise && !op.is_unary() && !op.ifm2_broadcast.scalar)
    add(set, {Reg::IFM2_IB_START});
  if (product == Product::kU65) add(set, {Reg::PARALLEL_MODE});
}

RegisterSet used_by_dma(const DmaTransfer& dma, Product product) {
  RegisterSet set;
  add(set, {Reg::DMA0_SRC, Reg::DMA0_DST, Reg::DMA0_LEN, Reg::DMA0_SRC_REGION, Reg::DMA0_DST_REGION});
  if (dma.dimensions > 1) add(set, {Reg::DMA0_SIZE0});
  if (dma.dimensions > 2) add(set, {Reg::DMA0_SIZE1});
  if (product == Product::kU65) {
    if (dma.dimensions > 1) add(set, {Reg::DMA0_SKIP0});
    if (dma.dimensions > 2) add(set, {Reg::DMA0_SKIP1});
  }
  if (!npu::is_u85(product)) return set;
  if (dma.dimensions > 1) add(set, {Reg::DMA0_SRC_STRIDE0, Reg::DMA0_DST_STRIDE0});
  if (dma.dimensions > 2) add(set, {Reg::DMA0_SRC_STRIDE1, Reg::DMA0_DST_STRIDE1});
  if (!dma.gather && !dma.scatter) return set;
  add(set, {Reg::DMA0_IDX, Reg::DMA0_IDX_REGION, Reg::DMA0_IDX_MAX});
  if (dma.dimensions > 2) add(set, {Reg::DMA0_IDX_SKIP1});
  return set;
}

}  // namespace

RegisterSet registers_used(const Operation& op, npu::Product product) {
  if (op.kind == OperationKind::kDma) return used_by_dma(op.dma, product);
  RegisterSet set;
  add(set, {Reg::OFM_HEIGHT_M1, Reg::OFM_WIDTH_M1, Reg::OFM_DEPTH_M1, Reg::OFM_BLK_HEIGHT_M1, Reg::OFM_BLK_WIDTH_M1,
            Reg::OFM_BLK_DEPTH_M1, Reg::OFM_PRECISION, Reg::ACC_FORMAT, Reg::BLOCKDEP, Reg::IFM_DEPTH_M1,
            Reg::IFM_UPSCALE, Reg::IFM_PAD_TOP, Reg::IFM_PAD_LEFT, Reg::IFM_PAD_BOTTOM, Reg::IFM_PAD_RIGHT});
  add_map(set, op.ifm, kIfmAddress, {Reg::IFM_PRECISION, Reg::IFM_ZERO_POINT});
  if (op.acc_output == AccOutput::kWrite) {
    add_map(set, op.ofm, kOfmAddress, {Reg::OFM_ZERO_POINT, Reg::ACTIVATION});
    if (op.activation.clamp) add(set, {Reg::ACTIVATION_MIN, Reg::ACTIVATION_MAX});
    add_scales(set, op);
  }
  if (op.kind != OperationKind::kElementwise)
    add(set, {Reg::KERNEL_HEIGHT_M1, Reg::KERNEL_WIDTH_M1, Reg::KERNEL_STRIDE});
  add_second_operand(set, op);
  add_weights(set, op);
  add_of_product(set, op, product);
  return set;
}

Result<void> check_registers_set(const Operation& op, const npu::RegisterFile& registers) {
  const RegisterSet used = registers_used(op, registers.product());
  for (size_t i = 0; i < used.size(); ++i) {
    const auto reg = static_cast<Reg>(i);
    if (!used[i] || registers.written(reg)) continue;
    return fail(
        Diagnostic{.where = {},
                   .what = fmt::format("the operation uses {}, which the stream has not set", npu::row_of(reg).name),
                   .expected = "a value that the stream sets",
                   .got = "the value that the NPU's last stream has left"});
  }
  return {};
}

}  // namespace carina::simulate
