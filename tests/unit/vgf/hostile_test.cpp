// Each damaged file is rejected with a message that says what is wrong. No file is read past its end.
#include <flatbuffers/flatbuffers.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "facts/spirv.h"
#include "vgf/modules.h"
#include "vgf_generated.h"

namespace carina::vgf {
namespace {

using testing::HasSubstr;

// Writes a number into a file.
template <typename T>
Buffer changed(const Buffer& file, size_t offset, T value) {
  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().end());
  std::memcpy(bytes.data() + offset, &value, sizeof(T));
  return Buffer::copy_of(bytes);
}

uint64_t number(const Buffer& file, size_t offset) {
  uint64_t value = 0;
  std::memcpy(&value, file.data() + offset, sizeof(value));
  return value;
}

constexpr size_t header_offset(VgfSection section) {
  return static_cast<size_t>(section);
}

TEST(VgfHostile, damaged_header_and_sections_are_errors) {
  const Buffer file = written(kConvolutions);
  EXPECT_THAT(rejection(changed(file, 0, 'W')), HasSubstr("not a VGF file"));
  EXPECT_THAT(rejection(Buffer()), HasSubstr("not a VGF file"));
  EXPECT_THAT(rejection(file.slice(0, 100)), HasSubstr("ends in its header"));
  EXPECT_THAT(rejection(changed(file, kVgfVersionOffset, uint8_t{1})), HasSubstr("got 1.5.0"));
  EXPECT_THAT(rejection(changed(file, kVgfVersionOffset + 1, uint8_t{6})), HasSubstr("got 0.6.0"));
  const size_t modules = header_offset(VgfSection::kModules);
  EXPECT_THAT(rejection(changed<uint64_t>(file, modules, file.size())), HasSubstr("modules lies outside the file"));
  EXPECT_THAT(rejection(changed<uint64_t>(file, modules + 8, ~uint64_t{0})),
              HasSubstr("modules lies outside the file"));
  EXPECT_THAT(rejection(changed<uint64_t>(file, modules, 64)), HasSubstr("modules overlaps that of header"));
  const uint64_t sequence = number(file, header_offset(VgfSection::kSequence));
  EXPECT_THAT(rejection(changed(file, header_offset(VgfSection::kResources), sequence)),
              HasSubstr("resources overlaps that of sequence"));
  EXPECT_THAT(rejection(changed<uint64_t>(file, modules + 8, 2)), HasSubstr("modules is no FlatBuffer"));
  EXPECT_THAT(rejection(changed(file, number(file, modules), ~uint32_t{0})), HasSubstr("modules is damaged"));
}

TEST(VgfHostile, damaged_constants_are_errors) {
  const Buffer file = written(kConvolutions);
  const size_t section = number(file, header_offset(VgfSection::kConstants));
  const size_t entry = section + kVgfConstantsHeaderBytes;
  EXPECT_THAT(rejection(changed(file, section + 8, uint64_t{1} << 61)), HasSubstr("too short for its entries"));
  EXPECT_THAT(rejection(changed(file, section + 8, ~uint64_t{0} / 24)), HasSubstr("too short for its entries"));
  EXPECT_THAT(rejection(changed(file, entry, uint32_t{99})),
              HasSubstr("constant 0 names a resource that does not exist"));
  EXPECT_THAT(rejection(changed(file, entry, uint32_t{0})), HasSubstr("of category input"));
  EXPECT_THAT(rejection(changed(file, entry + 4, int32_t{-2})), HasSubstr("sparse dimension"));
  EXPECT_THAT(rejection(changed(file, entry + 8, uint64_t{17})), HasSubstr("not of its type's size"));
  EXPECT_THAT(rejection(changed(file, entry + 8, uint64_t{1000})), HasSubstr("lie outside their section"));
  EXPECT_THAT(rejection(changed(file, entry + 16, ~uint64_t{0})), HasSubstr("lie outside their section"));
  EXPECT_THAT(rejection(changed(file, section, uint8_t{0})), HasSubstr("constants is damaged"));
}

// The message about a container after this change.
std::string rejection_of(const std::function<void(Container&)>& change) {
  Container container = container_of(kConvolutions);
  change(container);
  return rejection(file_of(container));
}

TEST(VgfHostile, damaged_tables_are_errors) {
  EXPECT_THAT(rejection_of([](Container& c) { c.segments.clear(); }), HasSubstr("no segments"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].module = 1; }), HasSubstr("a module that does not exist"));
  EXPECT_THAT(rejection_of([](Container& c) { c.inputs[0].resource = 77; }),
              HasSubstr("a resource that does not exist"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].constants[0].constant = 5; }),
              HasSubstr("a constant that does not exist"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].constants.clear(); }),
              HasSubstr("graph constant 0 has no data"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].constants.push_back(c.segments[0].constants[0]); }),
              HasSubstr("data twice"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].sets[0].index = 1; }), HasSubstr("no resource is bound"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].sets[0].bindings[0].resource = 1; }),
              HasSubstr("no segment before it makes"));
  EXPECT_THAT(rejection_of([](Container& c) { c.segments[0].type = ModuleType::kCompute; }),
              HasSubstr("types of segment 0"));
  EXPECT_THAT(rejection_of([](Container& c) { c.modules[0].entry_point = "other"; }),
              HasSubstr("entry point \"other\""));
  EXPECT_THAT(rejection_of([](Container& c) { c.modules[0].code = std::monostate(); }), HasSubstr("no SPIR-V"));
  EXPECT_THAT(rejection_of([](Container& c) { c.modules[0].type = static_cast<ModuleType>(9); }),
              HasSubstr("type of module 0 is unknown"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].category = static_cast<VgfCategory>(4); }),
              HasSubstr("category of resource 0"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].format = 9; }), HasSubstr("format 9"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].descriptor_type = 7; }), HasSubstr("not a tensor"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].shape = {1, 2, 2, -1}; }), HasSubstr("unknown size"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].shape = {1, 2, 2, 3}; }),
              HasSubstr("of another type than x"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[0].shape = std::vector<int64_t>(4, int64_t{1} << 31); }),
              HasSubstr("overflows"));
  EXPECT_THAT(rejection_of([](Container& c) { c.resources[1].format = 14; }),
              HasSubstr("output 0 and its resource 1 differ"));
  EXPECT_THAT(rejection_of([](Container& c) { c.output_names.pop_back(); }), HasSubstr("number of names of outputs"));
  EXPECT_THAT(rejection_of([](Container& c) {
                c.outputs.clear();
                c.output_names.clear();
              }),
              HasSubstr("no outputs"));
}

std::string rejection_of_words(const std::function<void(std::vector<uint32_t>&)>& change) {
  return rejection_of([&](Container& container) { change(std::get<Spirv>(container.modules[0].code).words); });
}

// The index of the first instruction of this kind.
size_t find(const std::vector<uint32_t>& words, SpirvOp op) {
  for (size_t at = kSpirvHeaderWords; at < words.size(); at += words[at] >> 16) {
    if ((words[at] & 0xFFFF) == static_cast<uint32_t>(op)) return at;
  }
  ADD_FAILURE() << "no such instruction";
  return 0;
}

TEST(VgfHostile, damaged_spirv_is_an_error) {
  using Words = std::vector<uint32_t>;
  EXPECT_THAT(rejection_of_words([](Words& w) { w.resize(3); }), HasSubstr("ends in its header"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[0] = 0x03022307; }), HasSubstr("not SPIR-V"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[1] = 0x00020000; }), HasSubstr("version of SPIR-V"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[3] = 0x7FFFFFFF; }), HasSubstr("bound of the ids"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[3] = 10; }), HasSubstr("id out of range"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[5] &= 0xFFFF; }), HasSubstr("does not end in the module"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[5] |= 0xFFFF0000; }), HasSubstr("does not end in the module"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w.pop_back(); }), HasSubstr("the graph does not end"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpExtInst) + 4] = 999; }),
              HasSubstr("no instruction 999"));
  EXPECT_THAT(rejection_of_words(
                  [](Words& w) { w[find(w, SpirvOp::OpExtInst) + 2] = w[find(w, SpirvOp::OpGraphInputARM) + 2]; }),
              HasSubstr("made twice"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpExtInst)] -= 0x10000; }), HasSubstr("bad.vgf"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpExtInstImport) + 2] ^= 1; }),
              HasSubstr("cannot be executed"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpTypeInt) + 2] = 4; }),
              HasSubstr("TOSA does not have"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpGraphConstantARM) + 3] = 7; }),
              HasSubstr("graph constant 7 has no data"));
  EXPECT_THAT(rejection_of_words([](Words& w) { w[find(w, SpirvOp::OpGraphSetOutputARM) + 1] = 1; }),
              HasSubstr("read before it is made"));
}

TEST(VgfHostile, huge_constants_are_errors_before_allocation) {
  // A null constant of 2^30 elements takes three words.
  const std::string message = rejection_of_words([](std::vector<uint32_t>& words) {
    const size_t extinst = find(words, SpirvOp::OpExtInst);
    const uint32_t bound = words[3];
    const uint32_t type_int = words[find(words, SpirvOp::OpTypeInt) + 1];
    const uint32_t array = words[find(words, SpirvOp::OpTypeArray) + 1];
    const uint32_t rank = words[find(words, SpirvOp::OpTypeArray) + 3];
    const uint32_t word_type = words[find(words, SpirvOp::OpTypeArray) + 2];
    words[extinst + 8] = bound + 3;                                                     // CLAMP's operand
    const std::vector<uint32_t> more{4 << 16 | 43, word_type, bound,          1 << 20,  // OpConstant
                                     7 << 16 | 44, array,     bound + 1,      bound,     bound,
                                     bound,        bound,     5 << 16 | 4163, bound + 2, type_int,
                                     rank,         bound + 1, 3 << 16 | 46,   bound + 2, bound + 3};
    words.insert(words.begin() + static_cast<ptrdiff_t>(find(words, SpirvOp::OpGraphEntryPointARM)), more.begin(),
                 more.end());
    words[3] = bound + 4;
  });
  EXPECT_THAT(message, testing::AnyOf(HasSubstr("too large"), HasSubstr("overflows")));
}

TEST(VgfHostile, compute_segments_are_named_errors) {
  Container container = container_of(kConvolutions);
  container.modules.push_back({.type = ModuleType::kCompute,
                               .name = "warp",
                               .entry_point = "warp_main",
                               .code = Source{.language = "GLSL", .text = "void main() {}"}});
  Segment segment = container.segments.front();
  segment.type = ModuleType::kCompute;
  segment.name = "compute_segment_0";
  segment.module = 1;
  container.segments.push_back(segment);
  const Buffer file = file_of(container);
  EXPECT_THAT(rejection(file),
              HasSubstr("segment compute_segment_0: a compute shader (entry point warp_main) cannot be executed"));
  EXPECT_THAT(*disassemble(file, "text"), HasSubstr("void main() {}"));
}

// Files before 0.4 have another magic, constants in a FlatBuffer with ids as indices, and sections in any order.
TEST(VgfHostile, old_files_are_read) {
  const Buffer file = written(kConvolutions);
  const size_t begin = number(file, header_offset(VgfSection::kConstants));
  flatbuffers::FlatBufferBuilder builder;
  std::vector<uint8_t> raw(18);
  std::memcpy(raw.data(), file.data() + begin + kVgfConstantsHeaderBytes + kVgfConstantEntryBytes, raw.size());
  builder.ForceVectorAlignment(raw.size(), 1, 8);
  const auto data = builder.CreateVector(raw);
  const uint32_t resource = container_of(kConvolutions).constants.front().resource;
  const std::vector constants{fb::CreateOldConstant(builder, resource, -1, data)};
  builder.Finish(fb::CreateOldConstants(builder, builder.CreateVector(constants)));

  std::vector<std::byte> bytes(file.bytes().begin(), file.bytes().begin() + static_cast<ptrdiff_t>(begin));
  bytes.resize(bytes.size() + 3);  // unaligned
  const uint64_t offset = bytes.size();
  const uint64_t size = builder.GetSize();
  const auto* section = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  bytes.insert(bytes.end(), section, section + size);
  std::memcpy(bytes.data(), kVgfOldMagic.data(), kVgfOldMagic.size());
  bytes[kVgfVersionOffset + 1] = std::byte{3};
  std::memcpy(bytes.data() + header_offset(VgfSection::kConstants), &offset, sizeof(offset));
  std::memcpy(bytes.data() + header_offset(VgfSection::kConstants) + 8, &size, sizeof(size));
  const auto old = read_vgf(Buffer::copy_of(bytes), "old.vgf");
  ASSERT_TRUE(old.has_value()) << to_string(old.error());
  EXPECT_EQ(ir::print(*old), ir::print(*read_vgf(file, "new.vgf")));
}

// Every truncated file, and every file with a changed byte, gives a module or a message.
// Every byte, or every fifth with sanitizers, which make each case ten times longer.
#ifdef CARINA_SANITIZED
constexpr size_t kStep = 5;
#else
constexpr size_t kStep = 1;
#endif

TEST(VgfHostile, damage_is_not_read_past_end) {
  const Buffer file = written(kConvolutions);
  for (size_t size = 0; size < file.size(); size += 3) (void)read_vgf(Buffer::copy_of(file.bytes().first(size)), "cut");
  size_t rejected = 0;
  for (size_t at = 0; at < file.size(); at += kStep) {
    for (const uint8_t value : std::to_array<uint8_t>({0x00, 0x01, 0x7F, 0xFF})) {
      const Buffer damaged = changed(file, at, value);
      const auto module = read_vgf(damaged, "damaged");
      (void)disassemble(damaged, "damaged");
      if (!module) ++rejected;
      const bool sound = !module || ir::verify_structure(module->main());
      EXPECT_TRUE(sound) << "byte " << at;
    }
  }
  EXPECT_GT(rejected, file.size() / kStep);
}

}  // namespace
}  // namespace carina::vgf
