// Tests Vela's raw .npz and the Ethos-U delegate blob.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "base/hash/sha256.h"
#include "npu/delegate_blob.h"
#include "npu/payload.h"
#include "npu/registers.h"
#include "npu/vela_raw.h"
#include "npu/written_regions.h"
#include "peer_streams.h"
#include "tensor/npy.h"

namespace carina::npu {
namespace {

CompiledNetwork small_network() {
  CompiledNetwork network;
  network.command_payload = build_payload(*find_accelerator("ethos-u55-128"), std::vector<uint32_t>{0xFFFF0000});
  network.weights = std::vector<std::byte>(50, std::byte{3});
  network.weights.back() = std::byte{0};  // trailing zeros must survive
  network.scratch_bytes = 4096;
  network.inputs = {{.shape = {1, 1, 1, 49, 10, 1}, .element_bytes = 1, .region = 1, .offset = 16},
                    {.shape = {1, 1, 1, 1, 1, 2}, .element_bytes = 4, .region = 1, .offset = 0}};
  network.outputs = {{.shape = {1, 1, 1, 1, 1, 12}, .element_bytes = 2, .region = 1, .offset = 512}};
  return network;
}

void expect_equal(const CompiledNetwork& a, const CompiledNetwork& b) {
  EXPECT_EQ(a.command_payload, b.command_payload);
  EXPECT_EQ(a.weights, b.weights);
  EXPECT_EQ(a.scratch_bytes, b.scratch_bytes);
  EXPECT_EQ(a.inputs, b.inputs);
  EXPECT_EQ(a.outputs, b.outputs);
}

// ---- Raw .npz ----

TEST(VelaRaw, written_file_reads_back) {
  CompiledNetwork network = small_network();
  network.fast_scratch_bytes = 128;
  const auto file = write_vela_raw(network);
  ASSERT_TRUE(file);
  const auto back = read_vela_raw(Buffer::copy_of(*file), "test.npz");
  ASSERT_TRUE(back) << to_string(back.error());
  expect_equal(*back, network);
  EXPECT_EQ(back->fast_scratch_bytes, 128);
  EXPECT_EQ(*write_vela_raw(*back), *file);
}

TEST(VelaRaw, weights_may_stay_in_file) {
  const CompiledNetwork network = small_network();
  const Buffer file = Buffer::copy_of(*write_vela_raw(network));
  const auto read = read_vela_raw_in_place(file, "test.npz");
  ASSERT_TRUE(read) << to_string(read.error());
  EXPECT_TRUE(read->network.weights.empty());
  EXPECT_TRUE(std::ranges::equal(read->weights.bytes(), network.weights));
  EXPECT_GE(read->weights.data(), file.data());
  EXPECT_LE(read->weights.data() + read->weights.size(), file.data() + file.size());
}

TEST(WrittenRegions, results_and_outgoing_transfers_are_listed) {
  StreamWriter writer(Product::kU55);
  const auto written = [&] { return written_regions(Product::kU55, writer.words(), "test")->to_ulong(); };
  EXPECT_EQ(written(), 0U);
  writer.set(Reg::DMA0_DST_REGION, 1 << 8 | 3);  // a transfer into the NPU's internal memory
  EXPECT_EQ(written(), 0U);
  writer.set(Reg::OFM_REGION, 1);
  writer.set(Reg::IFM_REGION, 5);
  EXPECT_EQ(written(), 0b10U);
  writer.set(Reg::DMA0_DST_REGION, 2);
  EXPECT_EQ(written(), 0b110U);
}

TEST(WrittenRegions, unset_register_is_named) {
  for (const Op op : {Op::CONV, Op::DMA_START}) {
    StreamWriter writer(Product::kU55);
    writer.op(op, 0);
    EXPECT_EQ(written_regions(Product::kU55, writer.words(), "test")->to_ulong(), 1U);
  }
  EXPECT_FALSE(written_regions(Product::kU55, std::vector<uint32_t>{0x3FF}, "test"));
}

TEST(WrittenRegions, weights_in_region_are_written) {
  const std::vector<uint32_t> none;
  const auto writes = [&](const CompiledNetwork& network) { return may_write_weights(network, Product::kU55, none); };
  CompiledNetwork network{.fast_scratch_region = 0};
  EXPECT_FALSE(writes(network));  // Vela writes this if there is no fast scratch
  network.fast_scratch_bytes = 16;
  EXPECT_TRUE(writes(network));
  EXPECT_TRUE(writes({.scratch_region = 0}));
  EXPECT_TRUE(writes({.inputs = {{.region = 0}}}));
  StreamWriter writer(Product::kU55);
  writer.set(Reg::OFM_REGION, 0);
  EXPECT_TRUE(may_write_weights({}, Product::kU55, writer.words()));
}

TEST(VelaRaw, missing_and_damaged_entries_are_named) {
  std::map<std::string, Tensor> arrays = read_npz(Buffer::copy_of(*write_vela_raw(small_network())), "x")->arrays;
  const auto rejected = [](const std::map<std::string, Tensor>& content, const std::string& part) {
    const auto read = read_vela_raw(Buffer::copy_of(*npz_bytes(content)), "test.npz");
    ASSERT_FALSE(read);
    EXPECT_NE(to_string(read.error()).find(part), std::string::npos) << to_string(read.error());
  };
  for (const char* name : {"cmd_data", "weight_data", "input_shape", "output_offset"}) {
    auto content = arrays;
    content.erase(name);
    rejected(content, name);
  }
  const int64_t minus[] = {-1, -1};
  auto content = arrays;
  content["input_offset"] = Tensor::of<int64_t>(DType::kInt64, {2}, minus);
  rejected(content, "input_offset");
  content = arrays;
  content["input_region"] = Tensor::of<int64_t>(DType::kInt64, {1}, std::span(minus).first(1));
  rejected(content, "one number per tensor");
  content = arrays;
  content["scratch_size"] = Tensor::of<int64_t>(DType::kInt64, {}, std::span(minus).first(1));
  rejected(content, "scratch_size");
  content = arrays;
  content["input_shape"] = Tensor::of<int64_t>(DType::kInt64, {2}, minus);
  rejected(content, "not a table of shapes");
}

TEST(VelaRaw, golden_streams_of_older_versions_are_read) {
  const std::filesystem::path golden = tests::shared_folder() / "golden";
  if (!std::filesystem::exists(golden)) GTEST_SKIP() << "not run: no ../shared (streams of older Velas)";
  int count = 0;
  for (const AcceleratorConfig& accelerator : kAccelerators) {
    for (const char* model : {"keyword_spotting_dnn_medium_int8", "keyword_spotting_ds_cnn_large_clustered_int8"}) {
      const std::string path = (golden / accelerator.name / model / "stream.npz").string();
      const auto network = read_vela_raw(*map_file(path), path);
      ASSERT_TRUE(network) << to_string(network.error());
      const auto payload = parse_payload(network->command_payload, path);
      ASSERT_TRUE(payload) << to_string(payload.error());
      EXPECT_NE(payload->accelerator(), nullptr);
      EXPECT_EQ(network->outputs[0].shape[5], 12);
      ++count;
    }
  }
  EXPECT_EQ(count, 22);
}

// ---- Delegate blob ----

TEST(DelegateBlob, written_blob_reads_back) {
  const CompiledNetwork network = small_network();
  const auto blob = write_delegate_blob(network);
  ASSERT_TRUE(blob);
  EXPECT_TRUE(blob->named_blocks.empty());
  const auto back = read_delegate_blob(Buffer::copy_of(blob->bytes), "test", BlobAlignment::kRequire16, {});
  ASSERT_TRUE(back) << to_string(back.error());
  expect_equal(*back, network);
}

TEST(DelegateBlob, external_blocks_are_keyed_by_placement_and_content) {
  const CompiledNetwork network = small_network();
  const ExternalBlock external[] = {{.block = "weight_data", .placement = "flash"}};
  const auto blob = write_delegate_blob(network, external);
  ASSERT_TRUE(blob);
  ASSERT_EQ(blob->named_blocks.size(), 1u);
  const NamedBlock& named = blob->named_blocks[0];
  EXPECT_EQ(named.placement, "flash");
  const std::span<const std::byte> parts[] = {std::as_bytes(std::span("flash")), network.weights};
  EXPECT_EQ(named.key, sha256_hex(parts));
  EXPECT_FALSE(read_delegate_blob(Buffer::copy_of(blob->bytes), "test"));
  const NamedData lookup = [&](std::string_view key) {
    return key == named.key ? Buffer::copy_of(named.data) : Buffer();
  };
  const auto back = read_delegate_blob(Buffer::copy_of(blob->bytes), "test", BlobAlignment::kAny, lookup);
  ASSERT_TRUE(back) << to_string(back.error());
  expect_equal(*back, network);
  const ExternalBlock unknown[] = {{.block = "inputs", .placement = "flash"}};
  EXPECT_FALSE(write_delegate_blob(network, unknown));
  const ExternalBlock empty[] = {{.block = "cmd_data", .placement = ""}};
  EXPECT_FALSE(write_delegate_blob(network, empty));
}

TEST(Sha256, examples_equal_published_ones) {
  const auto of = [](std::string_view text) {
    const std::span<const std::byte> parts[] = {std::as_bytes(std::span(text))};
    return sha256_hex(parts);
  };
  EXPECT_EQ(of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

void expect_rejected(const std::vector<std::byte>& blob, const std::string& part) {
  const auto read = read_delegate_blob(Buffer::copy_of(blob), "test");
  ASSERT_FALSE(read) << part;
  EXPECT_NE(to_string(read.error()).find(part), std::string::npos) << to_string(read.error());
}

void put_u32(std::vector<std::byte>& blob, size_t at, uint32_t value) {
  std::memcpy(blob.data() + at, &value, sizeof value);
}

TEST(DelegateBlob, damaged_blobs_are_errors) {
  const std::vector<std::byte> good = write_delegate_blob(small_network())->bytes;
  expect_rejected({}, "size is impossible");
  expect_rejected({good.begin(), good.end() - 32}, "its last block is missing");
  expect_rejected({good.begin(), good.end() - 16}, "cut off inside a block header");
  expect_rejected({good.begin(), good.end() - 1}, "size is impossible");
  std::vector<std::byte> blob = good;
  blob[0] = std::byte{'V'};
  expect_rejected(blob, "vela_bin_stream");
  blob = good;
  blob[33] = std::byte{'x'};  // damages the name "cxd_data"
  expect_rejected(blob, "unknown block");
  blob = good;
  put_u32(blob, 32 + 16, 0xFFFFFFFF);
  expect_rejected(blob, "longer than the blob");
  blob = good;
  blob[64] = std::byte{'X'};  // damages the magic "COP1"
  expect_rejected(blob, "no driver payload");
  blob = good;
  blob[32 + 20] = std::byte{1};  // marks the block as external, without a key
  expect_rejected(blob, "wrong length");
  blob = good;
  blob.insert(blob.end(), 32, std::byte{0});
  expect_rejected(blob, "bytes after the last block");
  blob = good;
  blob.insert(blob.end() - 32, good.begin() + 32, good.begin() + 32 + 32 + 48);  // cmd_data occurs twice
  expect_rejected(blob, "a second block");
  const auto inputs =
      static_cast<size_t>(std::search(good.begin(), good.end(), reinterpret_cast<const std::byte*>("inputs"),
                                      reinterpret_cast<const std::byte*>("inputs") + 6) -
                          good.begin());
  blob = good;
  put_u32(blob, inputs + 32, 0x40000001);
  expect_rejected(blob, "number of tensors");
  put_u32(blob, inputs + 32, 0xFFFFFFFF);
  expect_rejected(blob, "number of tensors");
  blob = good;
  put_u32(blob, inputs + 32 + 4 + 28, 0xFFFFFFFF);  // the offset of the first input
  expect_rejected(blob, "impossible shape");
}

TEST(DelegateBlob, misaligned_blob_is_an_error_as_on_device) {
  const std::vector<std::byte> good = write_delegate_blob(small_network())->bytes;
  std::vector<std::byte> shifted(good.size() + 1);
  std::copy(good.begin(), good.end(), shifted.begin() + 1);
  const Buffer all = Buffer::copy_of(shifted);
  const Buffer misaligned = all.slice(1, good.size());
  EXPECT_FALSE(read_delegate_blob(misaligned, "test", BlobAlignment::kRequire16, {}));
  EXPECT_TRUE(read_delegate_blob(misaligned, "test", BlobAlignment::kAny, {}));
}

TEST(DelegateBlob, same_network_equals_bytes_of_executorch) {
  const auto streams = peer_streams();
  if (streams.empty()) GTEST_SKIP() << tests::kNoCases;
  int compared = 0;
  for (const PeerStream& peer : streams) {
    const auto pte = map_file(peer.folder + "/model.pte");
    if (!pte) continue;
    const std::string_view text(reinterpret_cast<const char*>(pte->data()), pte->size());
    const size_t begin = text.find(std::string_view("vela_bin_stream\0", 16));
    const size_t end = text.find(std::string_view("vela_end_stream\0", 16));
    if (begin == std::string_view::npos || end == std::string_view::npos) continue;
    const Buffer blob = pte->slice(begin, end + 32 - begin);
    const auto network = read_delegate_blob(blob, peer.folder);
    ASSERT_TRUE(network) << to_string(network.error());
    const auto ours = write_delegate_blob(*network);
    ASSERT_TRUE(ours);
    EXPECT_TRUE(std::ranges::equal(ours->bytes, blob.bytes())) << peer.folder;
    ++compared;
  }
  EXPECT_GT(compared, 20);
}

}  // namespace
}  // namespace carina::npu
