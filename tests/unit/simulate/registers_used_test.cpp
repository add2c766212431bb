#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "npu/payload.h"
#include "tiny_stream.h"

// A stream whose operations use a register that nothing has set gives other results after another stream.
namespace carina::simulate {
namespace {

using npu::Op;
using npu::Reg;
using testing::HasSubstr;

// The registers without which the operations of a stream are rejected, by leaving out one at a time.
std::set<Reg> used_by(const std::vector<std::byte>& payload) {
  const auto parsed = *npu::parse_payload(payload, "stream");
  const npu::Product product = parsed.accelerator()->product;
  const auto commands = *npu::read_stream(product, parsed.stream, "stream");
  std::set<Reg> used;
  for (size_t i = 0; i < npu::kRegCount; ++i) {
    const auto reg = static_cast<Reg>(i);
    std::vector<uint32_t> words;
    for (const npu::Command& command : commands) {
      if (command.kind == npu::Command::Kind::kRegister && command.reg == reg) continue;
      for (uint32_t w = 0; w < command.words(); ++w) words.push_back(parsed.stream[command.word_index + w]);
    }
    std::vector<std::byte> constants(1024), arena(4096);
    Memory memory;
    memory.regions[0] = constants;
    memory.regions[1] = arena;
    const auto report =
        run(npu::build_payload(*parsed.accelerator(), words), memory, {.unset_register = UnsetRegister::kFault});
    if (report) continue;
    EXPECT_THAT(error_of(report), HasSubstr("uses " + std::string(npu::row_of(reg).name) + ", which"));
    used.insert(reg);
  }
  return used;
}

const std::set<Reg> kOfEveryKernel{
    Reg::IFM_REGION,       Reg::IFM_BASE0,         Reg::IFM_BASE1,        Reg::IFM_BASE2,      Reg::IFM_BASE3,
    Reg::IFM_STRIDE_X,     Reg::IFM_STRIDE_Y,      Reg::IFM_STRIDE_C,     Reg::IFM_WIDTH0_M1,  Reg::IFM_HEIGHT0_M1,
    Reg::IFM_HEIGHT1_M1,   Reg::IFM_DEPTH_M1,      Reg::IFM_PRECISION,    Reg::IFM_ZERO_POINT, Reg::IFM_UPSCALE,
    Reg::IFM_PAD_TOP,      Reg::IFM_PAD_LEFT,      Reg::IFM_PAD_RIGHT,    Reg::IFM_PAD_BOTTOM, Reg::OFM_REGION,
    Reg::OFM_BASE0,        Reg::OFM_BASE1,         Reg::OFM_BASE2,        Reg::OFM_BASE3,      Reg::OFM_STRIDE_X,
    Reg::OFM_STRIDE_Y,     Reg::OFM_STRIDE_C,      Reg::OFM_WIDTH0_M1,    Reg::OFM_HEIGHT0_M1, Reg::OFM_HEIGHT1_M1,
    Reg::OFM_HEIGHT_M1,    Reg::OFM_WIDTH_M1,      Reg::OFM_DEPTH_M1,     Reg::OFM_PRECISION,  Reg::OFM_ZERO_POINT,
    Reg::OFM_BLK_WIDTH_M1, Reg::OFM_BLK_HEIGHT_M1, Reg::OFM_BLK_DEPTH_M1, Reg::ACTIVATION,     Reg::ACTIVATION_MIN,
    Reg::ACTIVATION_MAX,   Reg::OFM_SCALE,         Reg::ACC_FORMAT,       Reg::BLOCKDEP};

std::set<Reg> kernel_and(std::set<Reg> registers) {
  registers.insert(kOfEveryKernel.begin(), kOfEveryKernel.end());
  return registers;
}

TEST(RegistersUsed, pool_uses_its_kernel_but_no_second_operand) {
  TinyStream s;
  s.ifm2({.base = 256}).ifm({.base = 0}).ofm({.base = 0x400}).copy_pool();
  EXPECT_EQ(used_by(s.payload()), kernel_and({Reg::KERNEL_WIDTH_M1, Reg::KERNEL_HEIGHT_M1, Reg::KERNEL_STRIDE,
                                              Reg::IFM_IB_END, Reg::AB_START}));
}

TEST(RegistersUsed, elementwise_uses_the_second_operand_and_its_scales_but_no_kernel) {
  TinyStream s;
  s.ifm({.base = 0}).ifm2({.base = 256}).ofm({.base = 0x400});
  s.writer().set(Reg::OPA_SCALE, 0, 1);
  s.writer().set(Reg::OPB_SCALE, 0, 1);
  s.op(Op::ELEMENTWISE, 1);  // ADD
  EXPECT_EQ(
      used_by(s.payload()),
      kernel_and({Reg::IFM2_REGION, Reg::IFM2_BASE0, Reg::IFM2_BASE1, Reg::IFM2_BASE2, Reg::IFM2_BASE3,
                  Reg::IFM2_STRIDE_X, Reg::IFM2_STRIDE_Y, Reg::IFM2_STRIDE_C, Reg::IFM2_WIDTH0_M1, Reg::IFM2_HEIGHT0_M1,
                  Reg::IFM2_HEIGHT1_M1, Reg::IFM2_PRECISION, Reg::IFM2_ZERO_POINT, Reg::IFM2_BROADCAST,
                  Reg::IFM2_IB_START, Reg::OPA_SCALE, Reg::OPB_SCALE, Reg::IFM_IB_END, Reg::AB_START}));
}

TEST(RegistersUsed, transfer_uses_five_registers) {
  TinyStream s;
  s.ifm({.base = 0}).ofm({.base = 0x400}).dma(0, 0, 1, 0x400, 64);
  EXPECT_EQ(used_by(s.payload()),
            (std::set<Reg>{Reg::DMA0_SRC, Reg::DMA0_DST, Reg::DMA0_LEN, Reg::DMA0_SRC_REGION, Reg::DMA0_DST_REGION}));
}

// Without the option, they read as 0: streams of other compilers leave some unset.
TEST(RegistersUsed, unset_registers_have_defaults_otherwise) {
  std::vector<std::byte> arena(4096);
  Memory memory;
  memory.regions[0] = memory.regions[1] = arena;
  TinyStream s;
  s.set(Reg::DMA0_SRC_REGION, 1).set(Reg::DMA0_SRC, 0).set(Reg::DMA0_DST, 0x400).set(Reg::DMA0_LEN, 64);
  s.op(Op::DMA_START);  // to region 0
  EXPECT_TRUE(run(s.payload(), memory, {}));
  EXPECT_FALSE(run(s.payload(), memory, {.unset_register = UnsetRegister::kFault}));
}

TEST(Simulator, run_ends_before_a_word_and_tells_of_each_operation) {
  std::vector<std::byte> constants(1024, std::byte{7}), arena(4096);
  Memory memory;
  memory.regions[0] = constants;
  memory.regions[1] = arena;
  TinyStream s;
  s.dma(0, 0, 1, 0, 64);
  const uint32_t second = s.here() / 4;
  s.dma(0, 0, 1, 0x400, 64);
  std::vector<uint32_t> words;
  const auto report =
      run(s.payload(), memory, {.after_operation = [&](uint32_t word) { words.push_back(word); }, .end_word = second});
  ASSERT_TRUE(report) << error_of(report);
  EXPECT_EQ(words, std::vector<uint32_t>{second - 1});
  EXPECT_EQ(arena[63], std::byte{7});
  EXPECT_EQ(arena[0x400], std::byte{0});
}

}  // namespace
}  // namespace carina::simulate
