#include "npu/registers.h"

#include <gtest/gtest.h>

#include <random>

#include "npu/disassemble.h"
#include "npu/field_values.h"

namespace carina::npu {
namespace {

constexpr Product kProducts[] = {Product::kU55, Product::kU65, Product::kU85};

uint64_t random_data(const CommandRow& row, std::span<const FieldRow> fields, Product product,
                     std::mt19937_64& random) {
  uint64_t data = 0;
  for (const FieldRow& field : fields) {
    if (contains(field.products, product)) data = field.set(data, random());
  }
  if (row.form == Form::kAddress) data = random() & (product == Product::kU55 ? 0xFFFFFFFF0000u : 0xFFFFFFFF00FFu);
  return data;
}

TEST(Stream, registers_with_all_fields_round_trip) {
  std::mt19937_64 random(1);
  for (const Product product : kProducts) {
    StreamWriter writer(product, StreamWriter::Writes::kAll);
    std::vector<std::pair<Reg, uint64_t>> written;
    for (int round = 0; round < 20; ++round) {
      for (size_t i = 0; i < kRegCount; ++i) {
        const auto reg = static_cast<Reg>(i);
        if (!contains(row_of(reg).products, product)) continue;
        written.emplace_back(reg, random_data(row_of(reg), fields_of(reg), product, random));
        writer.set_fields(reg, written.back().second);
      }
    }
    const auto commands = read_stream(product, writer.words(), "test");
    ASSERT_TRUE(commands) << to_string(commands.error());
    ASSERT_EQ(commands->size(), written.size());
    for (size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ((*commands)[i].reg, written[i].first);
      EXPECT_EQ((*commands)[i].data(), written[i].second) << row_of(written[i].first).name;
    }
  }
}

TEST(Stream, operations_round_trip) {
  for (const Product product : kProducts) {
    StreamWriter writer(product);
    std::vector<Op> written;
    for (size_t i = 0; i < kOpCount; ++i) {
      const auto op = static_cast<Op>(i);
      if (!contains(row_of(op).products, product) || op == Op::BRANCH) continue;
      writer.op(op,
                static_cast<uint16_t>(fields_of(op).empty() || !contains(fields_of(op)[0].products, product) ? 0 : 1));
      written.push_back(op);
    }
    const auto commands = read_stream(product, writer.words(), "test");
    ASSERT_TRUE(commands);
    ASSERT_EQ(commands->size(), written.size());
    for (size_t i = 0; i < written.size(); ++i) {
      EXPECT_EQ((*commands)[i].kind, Command::Kind::kOperation);
      EXPECT_EQ((*commands)[i].op, written[i]);
    }
  }
}

TEST(Stream, addresses_and_strides_keep_sign) {
  for (const Product product : kProducts) {
    const int64_t top = int64_t{1} << (product == Product::kU55 ? 31 : 39);
    for (const int64_t value : {int64_t{0}, int64_t{1}, int64_t{-1}, int64_t{-320}, top - 1, -top}) {
      StreamWriter writer(product);
      writer.set(Reg::OFM_STRIDE_Y, value);
      const auto commands = read_stream(product, writer.words(), "test");
      ASSERT_TRUE(commands);
      EXPECT_EQ(commands->front().address(product), value);
      RegisterFile file(product);
      file.write(commands->front());
      EXPECT_TRUE(file.written(Reg::OFM_STRIDE_Y));
      EXPECT_FALSE(file.written(Reg::OFM_STRIDE_X));
      EXPECT_EQ(file.address(Reg::OFM_STRIDE_Y), value);
    }
  }
}

TEST(Stream, negative_numbers_take_field_width) {
  StreamWriter writer(Product::kU85);
  writer.set(Reg::OFM_ZERO_POINT, -128);
  writer.set(Reg::RESIZE_X_OFFSET, -2);  // 12 bits
  writer.set(Reg::OP_SCALAR, -1536);
  const std::vector<uint32_t> expected{0xFF800118, 0x0FFE012C, 0x00004027, 0xFFFFFA00};
  EXPECT_EQ(writer.words(), expected);
}

TEST(Stream, redundant_writes_are_omitted_until_invalidated) {
  StreamWriter writer(Product::kU55);
  writer.set(Reg::IFM_DEPTH_M1, 7);
  writer.set(Reg::IFM_DEPTH_M1, 7);
  EXPECT_EQ(writer.word_count(), 1u);
  writer.set(Reg::IFM_DEPTH_M1, 8);
  EXPECT_EQ(writer.word_count(), 2u);
  writer.forget();
  writer.set(Reg::IFM_DEPTH_M1, 8);
  EXPECT_EQ(writer.word_count(), 3u);
}

TEST(Stream, branches_can_be_patched_and_followed) {
  StreamWriter writer(Product::kU85);
  writer.branch(BranchCond::RF_TRUE, 0);
  writer.op(Op::KERNEL_WAIT, 0);
  writer.op(Op::STOP, 0xFFFF);
  writer.patch_branch(0, 12);
  StreamReader reader(Product::kU85, writer.words(), "test");
  Command command;
  ASSERT_TRUE(*reader.next(command));
  EXPECT_EQ(command.op, Op::BRANCH);
  ASSERT_TRUE(reader.seek(command.payload));
  ASSERT_TRUE(*reader.next(command));
  EXPECT_EQ(command.op, Op::STOP);
  EXPECT_FALSE(*reader.next(command));
  EXPECT_FALSE(reader.seek(3));
  EXPECT_FALSE(reader.seek(16));
}

void expect_rejected(Product product, std::vector<uint32_t> words, const std::string& part) {
  const auto commands = read_stream(product, words, "test");
  ASSERT_FALSE(commands);
  EXPECT_NE(to_string(commands.error()).find(part), std::string::npos) << to_string(commands.error());
}

TEST(Stream, damaged_words_are_errors_with_position) {
  expect_rejected(Product::kU55, {0x00000010, 0x000001FF}, "byte 0x4");  // no such register
  expect_rejected(Product::kU55, {0x0000012E}, "no such command");       // only U85 has WEIGHT_FORMAT
  expect_rejected(Product::kU85, {0x0000010D}, "no such command");       // U85 does not have IFM_IB_END
  expect_rejected(Product::kU85, {0x00004020}, "ends inside a command");
  expect_rejected(Product::kU85, {0x00008010}, "reserved bits");
  expect_rejected(Product::kU85, {0x00000410}, "reserved bits");
  EXPECT_TRUE(read_stream(Product::kU85, {}, "test")->empty());
}

TEST(Disassemble, line_has_offset_words_name_and_fields) {
  StreamWriter writer(Product::kU85);
  writer.set(Reg::OFM_STRIDE_Y, 0x140);
  writer.set_fields(Reg::KERNEL_STRIDE, field_of(Reg::KERNEL_STRIDE, "weight_order", Product::kU85).set(0, 1));
  writer.op(Op::POOL, static_cast<uint16_t>(PoolingMode::ARGMAX_X));
  const auto commands = read_stream(Product::kU85, writer.words(), "test");
  ASSERT_TRUE(commands);
  const LayerNote layer{
      .name = "conv_1", .tosa_ops = {"CONV2D"}, .source_lines = {"model.py:7"}, .first_word = 2, .end_word = 4};
  EXPECT_EQ(
      disassemble(Product::kU85, *commands, {&layer, 1}),
      "  Offset: Payload Param Code - Command                        Param, Fields\n"
      "0x000000: 00000140 0000 4015 - NPU_SET_OFM_STRIDE_Y               0, addr = 0x140\n"
      "// conv_1 CONV2D (model.py:7)\n"
      "0x000008:          0004 0122 - NPU_SET_KERNEL_STRIDE              4, stride_x_lsb = 0, stride_y_lsb = 0, "
      "weight_order = "
      "WEIGHT_ORDER_PART_KERNEL_FIRST, dilation_x = KERNEL_DILATION_NONE, dilation_y = KERNEL_DILATION_NONE, "
      "decomposition = "
      "KERNEL_DECOMPOSITION_D8X8, stride_x_msb = 0, stride_y_msb = 0\n"
      "0x00000c:          0006 0005 - NPU_OP_POOL                        6, pooling_mode = POOLING_MODE_ARGMAX_X\n");
}

TEST(Disassemble, value_without_name_is_a_number) {
  const std::vector<uint32_t> words{0x00070005};  // pooling mode 7 on U55
  const auto commands = read_stream(Product::kU55, words, "test");
  ASSERT_TRUE(commands);
  const CommandText text = describe(Product::kU55, commands->front());
  ASSERT_EQ(text.fields.size(), 1u);
  EXPECT_EQ(text.fields[0].text, "7");
}

TEST(FieldValues, fields_equal_those_of_product) {
  constexpr FieldRow kPool = field_of(Op::POOL, "pooling_mode", Product::kU55);
  EXPECT_EQ(legal_values(kPool, Product::kU55), "0..2");
  EXPECT_EQ(legal_values(kPool, Product::kU85), "0..7");
  constexpr FieldRow kU55Function = field_of(Reg::ACTIVATION, "activation_function", Product::kU55);
  EXPECT_EQ(legal_values(kU55Function, Product::kU65), "0, 3, 4, 16..23");
  constexpr FieldRow kU85Function = field_of(Reg::ACTIVATION, "activation_function", Product::kU85);
  EXPECT_EQ(legal_values(kU85Function, Product::kU85), "0, 1, 4, 5, 7..11");
  EXPECT_TRUE(has_value(kU85Function, 11, Product::kU85));
  EXPECT_FALSE(has_value(kU85Function, 6, Product::kU85));
  constexpr FieldRow kLength = field_of(Reg::SCALE_LENGTH, "length", Product::kU55);
  EXPECT_TRUE(has_value(kLength, 12345, Product::kU55));
  EXPECT_EQ(legal_values(kLength, Product::kU55), "");
}

}  // namespace
}  // namespace carina::npu
