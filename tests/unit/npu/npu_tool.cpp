// A command line for the npu library, for the integration tests. Weights are int16, little-endian, in files without a
// header.
//
//   npu_tool encode-swd WEIGHTS STREAM          npu_tool decode-swd STREAM WEIGHTS
//   npu_tool encode-fwd WEIGHTS STREAM          npu_tool decode-fwd STREAM WEIGHTS COUNT
//   npu_tool reorder WEIGHTS SEQUENCE key=value...
//   npu_tool restore SEQUENCE WEIGHTS key=value...
//   npu_tool disassemble NPZ LISTING                     npu_tool rewrite NPZ NPZ
// keys: accelerator stream depthwise part_kernel ofm_depth ifm_depth kernel_height kernel_width dilation_y dilation_x
// ofm_block_depth
//       ifm_bits cores stride_y stride_x microblock sparse
// "time" before the command repeats it and prints the shortest time in milliseconds.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/io/file.h"
#include "npu/disassemble.h"
#include "npu/payload.h"
#include "npu/vela_raw.h"
#include "npu/weights/weight_codec.h"
#include "npu/weights/weight_order.h"

namespace {

using namespace carina;

[[noreturn]] void die(const std::string& message) {
  fmt::print(stderr, "{}\n", message);
  std::exit(1);
}

template <typename T>
T must(Result<T> result) {
  if (!result) die(to_string(result.error()));
  return *std::move(result);
}

std::vector<int16_t> read_weights(const std::string& path) {
  const Buffer file = must(map_file(path));
  std::vector<int16_t> weights(file.size() / 2);
  if (!weights.empty()) std::memcpy(weights.data(), file.data(), weights.size() * 2);
  return weights;
}

void write_bytes(const std::string& path, std::span<const std::byte> bytes) {
  if (auto done = write_file(path, bytes); !done) die(to_string(done.error()));
}
void write_weights(const std::string& path, std::span<const int16_t> weights) {
  write_bytes(path, std::as_bytes(weights));
}

npu::WeightTraversal traversal_of(std::map<std::string, std::string>& keys) {
  const auto number = [&](const std::string& key, int otherwise) {
    const auto found = keys.find(key);
    return found == keys.end() ? otherwise : std::atoi(found->second.c_str());
  };
  npu::WeightTraversal t;
  t.accelerator = npu::find_accelerator(keys["accelerator"]);
  if (t.accelerator == nullptr) die("unknown accelerator");
  t.kind = number("depthwise", 0) != 0 ? npu::WeightKind::kDepthwise : npu::WeightKind::kConv;
  t.order = number("part_kernel", 0) != 0 ? npu::WeightOrder::PART_KERNEL_FIRST : npu::WeightOrder::DEPTH_FIRST;
  t.ofm_depth = number("ofm_depth", 1);
  t.ifm_depth = number("ifm_depth", 1);
  t.kernel_height = number("kernel_height", 1);
  t.kernel_width = number("kernel_width", 1);
  t.dilation_y = number("dilation_y", 1);
  t.dilation_x = number("dilation_x", 1);
  t.ofm_block_depth = number("ofm_block_depth", 16);
  t.ifm_bits = number("ifm_bits", 8);
  t.cores = number("cores", t.accelerator->cores);
  t.stride_y = number("stride_y", 1);
  t.stride_x = number("stride_x", 1);
  t.microblock = static_cast<npu::Microblock>(number("microblock", 0));
  t.sparsity = number("sparse", 0) != 0 ? npu::WeightSparsity::SPARSE_2_4 : npu::WeightSparsity::NONE;
  return t;
}

void run(const std::vector<std::string>& args, const std::function<void(const std::function<void()>&)>& timed) {
  const std::string& command = args[0];
  std::map<std::string, std::string> keys;
  for (size_t i = 3; i < args.size(); ++i) {
    const size_t equals = args[i].find('=');
    if (equals != std::string::npos) keys[args[i].substr(0, equals)] = args[i].substr(equals + 1);
  }
  if (command == "encode-swd" || command == "encode-fwd") {
    const std::vector<int16_t> weights = read_weights(args[1]);
    std::vector<std::byte> stream;
    timed([&] {
      stream = command == "encode-swd" ? npu::encode_swd(weights) : npu::encode_fwd(weights, npu::FwdPacking::kAny);
    });
    write_bytes(args[2], stream);
  } else if (command == "decode-swd" || command == "decode-fwd") {
    const Buffer stream = must(map_file(args[1]));
    std::vector<int16_t> weights;
    timed([&] {
      weights = must(command == "decode-swd" ? npu::decode_swd(stream.bytes(), size_t{1} << 30, args[1])
                                             : npu::decode_fwd(stream.bytes(), std::stoul(args.at(3)), args[1]));
    });
    write_weights(args[2], weights);
  } else if (command == "reorder") {
    const std::vector<int16_t> weights = read_weights(args[1]);
    const npu::WeightTraversal t = traversal_of(keys);
    std::vector<int16_t> sequence;
    timed([&] { sequence = npu::reorder(t, std::atoi(keys["stream"].c_str()), weights); });
    write_weights(args[2], sequence);
  } else if (command == "restore") {
    const std::vector<int16_t> sequence = read_weights(args[1]);
    const npu::WeightTraversal t = traversal_of(keys);
    std::vector<int16_t> weights(static_cast<size_t>(t.ofm_depth) *
                                 static_cast<size_t>(t.ifm_depth * t.kernel_height * t.kernel_width));
    timed([&] {
      if (!npu::restore(t, std::atoi(keys["stream"].c_str()), sequence, weights)) die("the sequence is too short");
    });
    write_weights(args[2], weights);
  } else if (command == "disassemble") {
    const npu::CompiledNetwork network = must(npu::read_vela_raw(must(map_file(args[1])), args[1]));
    const npu::Payload payload = must(npu::parse_payload(network.command_payload, args[1]));
    if (payload.accelerator() == nullptr) die("unknown accelerator");
    const npu::Product product = payload.accelerator()->product;
    const std::string listing = npu::disassemble(product, must(npu::read_stream(product, payload.stream, args[1])));
    write_bytes(args[2], std::as_bytes(std::span(listing)));
  } else if (command == "rewrite") {
    const npu::CompiledNetwork network = must(npu::read_vela_raw(must(map_file(args[1])), args[1]));
    write_bytes(args[2], must(npu::write_vela_raw(network)));
  } else {
    die("unknown command " + command);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> args(argv + 1, argv + argc);
  const bool measure = !args.empty() && args[0] == "time";
  if (measure) args.erase(args.begin());
  if (args.size() < 3) die("usage: see the head of npu_tool.cpp");
  run(args, [&](const std::function<void()>& work) {
    double best = 1e300;
    for (int i = 0; i < (measure ? 5 : 1); ++i) {
      const auto start = std::chrono::steady_clock::now();
      work();
      best =
          std::min(best, std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
    }
    if (measure) fmt::print("{:.3f} ms\n", best);
  });
}
