// Writes docs/cycle-model.md: a comparison of Carina's estimates with published figures, and a summary of the
// comparison with Vela's for every stream of the shared test data.
//
//   cycle_table SHARED > docs/cycle-model.md
//   cycle_table SHARED --streams                 the row of each stream beside Vela's
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "facts/npu_boards.h"
#include "stream_case.h"

namespace carina::simulate {
namespace {

namespace fs = std::filesystem;

using Summary = std::map<std::string, std::string>;

std::vector<std::string> cells(const std::string& line) {
  std::vector<std::string> parts;
  std::stringstream stream(line);
  for (std::string cell; std::getline(stream, cell, ',');) {
    std::erase(cell, '\r');
    parts.push_back(cell);
  }
  return parts;
}

std::optional<Summary> read_summary(const fs::path& path) {
  std::ifstream file(path);
  std::string names;
  std::string values;
  if (!std::getline(file, names) || !std::getline(file, values)) return std::nullopt;
  const auto keys = cells(names);
  const auto data = cells(values);
  Summary summary;
  for (size_t i = 0; i < std::min(keys.size(), data.size()); ++i) summary[keys[i]] = data[i];
  return summary;
}

double number(const Summary& summary, const std::string& key) {
  const auto it = summary.find(key);
  return it == summary.end() ? 0 : std::strtod(it->second.c_str(), nullptr);
}

double megabytes(double bytes) {
  return bytes / 1e6;
}

struct Row {
  std::string line;       // of the table of streams
  double difference = 0;  // of Carina's cycles to Vela's, as a share of Vela's
};

// A stream with the options of its compilation.
struct Subject {
  fs::path npz;
  std::vector<std::string> inputs;
  std::string system;
  std::string mode;
};

std::optional<Report> timed_run(const Subject& subject) {
  auto stream = StreamCase::load(subject.npz.string());
  if (!stream) return std::nullopt;
  Options options{.timing = Timing::kOn, .system_config = subject.system, .memory_mode = subject.mode};
  if (const npu::Board* board = npu::find_board(subject.system)) options.own_system_config = board->system;
  Simulator simulator(options);
  auto report = stream->run(simulator, subject.inputs);
  if (!report) {
    fmt::print(stderr, "{}: {}\n", subject.npz.string(), to_string(report.error()));
    return std::nullopt;
  }
  return std::move(*report);
}

uint64_t off_sram(const Report& report) {
  uint64_t bytes = 0;
  for (const MemoryKind memory : {MemoryKind::kDram, MemoryKind::kOnChipFlash, MemoryKind::kOffChipFlash})
    bytes += report.traffic[static_cast<size_t>(memory)].bytes();
  return bytes;
}

// The cycles of pools with a 1x1 kernel, which only move data (transposes, concatenations, slices, padding).
uint64_t layout_cycles(const Report& report) {
  uint64_t cycles = 0;
  for (const OperationReport& op : report.operations) {
    if (op.kind == OperationKind::kPool && op.kernel.height * op.kernel.width == 1 && op.name != "POOL REDUCE_SUM")
      cycles += op.cycles.total;
  }
  return cycles;
}

uint64_t elementwise_cycles(const Report& report) {
  uint64_t cycles = 0;
  for (const OperationReport& op : report.operations)
    cycles += op.kind == OperationKind::kElementwise ? op.cycles.total : 0;
  return cycles;
}

void add_row(const std::string& name, const Report& report, const Summary& summary, std::vector<Row>& rows) {
  const double vela = number(summary, "cycles_total");
  const auto ours = static_cast<double>(report.cycles.total);
  const double vela_off = number(summary, "dram_total_bytes") + number(summary, "on_chip_flash_total_bytes") +
                          number(summary, "off_chip_flash_total_bytes");
  const double sram = static_cast<double>(report.traffic[static_cast<size_t>(MemoryKind::kSram)].bytes());
  if (vela == 0) return;
  rows.push_back(
      {.line = fmt::format("| {} | {} | {:.0f} | {:+.1f} % | {} | {} | {} | {} | {:.2f} / {:.2f} | {:.2f} / {:.2f} |",
                           name, report.cycles.total, vela, 100 * (ours / vela - 1), report.cycles.mac,
                           report.cycles.output, layout_cycles(report), elementwise_cycles(report), megabytes(sram),
                           megabytes(number(summary, "sram_total_bytes")),
                           megabytes(static_cast<double>(off_sram(report))), megabytes(vela_off)),
       .difference = std::abs(ours / vela - 1)});
}

std::vector<fs::path> sorted(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::ranges::sort(entries);
  return entries;
}

std::vector<std::string> inputs_of(const fs::path& target, const std::string& prefix) {
  for (const fs::path& folder : {target, target.parent_path()}) {
    std::vector<std::string> files;
    for (const fs::path& path : sorted(folder)) {
      if (path.filename().string().starts_with(prefix) && path.extension() == ".npy") files.push_back(path.string());
    }
    if (!files.empty()) return files;
  }
  return {};
}

// One network for one NPU. `part` is "", or "p0_" and "p1_" for a graph with two delegates.
void vela_row(const fs::path& target, const std::string& part, const std::string& prefix, std::vector<Row>& rows) {
  const fs::path npz = target / fmt::format("out_{}vela.npz", part);
  const auto summary = read_summary(target / fmt::format("out_{}summary.csv", part));
  if (!fs::exists(npz) || !summary) return;
  const auto report =
      timed_run({npz, inputs_of(target, prefix), summary->at("system_config"), summary->at("memory_mode")});
  if (!report) return;
  const std::string model = target.parent_path().filename().string();
  const std::string piece = part.empty() ? "" : fmt::format(" part {}", part[1]);
  add_row(fmt::format("{}{} {}", model, piece, target.filename().string()), *report, *summary, rows);
}

void table(const fs::path& group, const std::string& prefix, std::vector<Row>& rows) {
  for (const fs::path& model : sorted(group)) {
    if (!fs::is_directory(model)) continue;
    for (const fs::path& target : sorted(model)) {
      if (!fs::is_directory(target)) continue;
      vela_row(target, "", prefix, rows);
      for (const std::string part : {"p0_", "p1_"}) vela_row(target, part, "tosa_" + part + "in_", rows);
    }
  }
}

void print_median(const std::vector<Row>& rows) {
  std::vector<double> differences;
  for (const Row& row : rows) differences.push_back(row.difference);
  if (differences.empty()) return;
  std::ranges::sort(differences);
  fmt::print("The cycles of {} streams differ by {:.1f} % in the median.\n", differences.size(),
             100 * differences[differences.size() / 2]);
}

struct Published {
  std::vector<const char*> streams;  // paths below SHARED; one run each
  const char* what;
  const char* system;  // a system of vela.ini or of a board
  const char* mode;
  double cycles;
  double axi0_read_beats;  // 0: not published
  double axi0_write_beats;
  double axi1_read_beats;
};
constexpr const char* kU55 = "Ethos_U55_High_End_Embedded";
const std::vector<Published> kPublished = {
    {{"cycle_anchors/himax_person_u55_64.npz"},
     "Himax person_detect 96, U55-64, FVP",
     kU55,
     "Shared_Sram",
     478989,
     112263,
     62789,
     30638},
    {{"cycle_anchors/himax_yolofastest256_u55_64.npz"},
     "Himax Yolo-Fastest 256, U55-64, FVP",
     kU55,
     "Shared_Sram",
     7328931,
     1839100,
     808112,
     73728},
    {{"cycle_anchors/ad_medium_vela310.npz"},
     "MLEK ad_medium, Vela 3.1.0, U55-128, FVP",
     kU55,
     "Shared_Sram",
     967731,
     485194,
     138111,
     56245},
    {{"cycle_anchors/ad_medium_vela201.npz"},
     "MLEK ad_medium, Vela 2.0.1, U55-128, FVP",
     kU55,
     "Shared_Sram",
     1081007,
     628122,
     135087,
     62870},
    {{"cycle_anchors/yolo_fastest_192_vela320.0.npz", "cycle_anchors/yolo_fastest_192_vela320.1.npz"},
     "MLEK Yolo-Fastest 192, U55-128, FVP",
     kU55,
     "Shared_Sram",
     2050339,
     678955,
     467545,
     46895},
    {{"cycle_anchors/mobilenet_v2_int8_vela300.npz"},
     "MLEK MobileNetV2 1.0 224, U55-128, FVP",
     kU55,
     "Shared_Sram",
     7345741,
     2468259,
     1151319,
     432351},
    {{"cycle_anchors/mlp_dense_u85_128.npz"},
     "ExecuTorch's perceptron 784-512-256-10, U85-128, FVP (other weights)",
     "Corstone_320_FVP",
     "Shared_Sram",
     97000,
     0,
     0,
     0},
    {{"cases/mobilenet_v2/ethos-u85-128/out_vela.npz"},
     "ExecuTorch's MobileNetV2, U85-128, FVP (another stream)",
     "Corstone_320_FVP",
     "Shared_Sram",
     5920305,
     0,
     0,
     0},
    {{"cycle_anchors/alif_e7_he_kws_micronet_m.npz"},
     "kws_micronet_m, Alif E7 HE, U55-128, board",
     "Alif_E7_HE",
     "Shared_Sram",
     436320,
     0,
     0,
     0},
    {{"cycle_anchors/m55m1_rnnoise.npz"},
     "RNNoise, Nuvoton M55M1, U55-256, board",
     "Nuvoton_M55M1",
     "Shared_Sram",
     113000,
     0,
     0,
     0},
};

uint64_t event(const Report& report, std::string_view name) {
  for (const PmuCounter& counter : report.pmu) {
    if (counter.name == name) return counter.count;
  }
  return 0;
}

std::string difference(double ours, double published) {
  return fmt::format("{:+.1f} %", 100 * (ours / published - 1));
}

std::string beats(const std::vector<Report>& runs, std::string_view name, double published) {
  if (published == 0) return "-";
  double ours = 0;
  for (const Report& run : runs) ours += static_cast<double>(event(run, name));
  return fmt::format("{:.0f} / {:.0f} ({})", ours, published, difference(ours, published));
}

void print_published(const fs::path& shared) {
  fmt::print(
      "| run | Carina | published | | AXI0 read beats | AXI0 write beats | AXI1 read beats |\n"
      "|---|---|---|---|---|---|---|\n");
  for (const Published& row : kPublished) {
    std::vector<Report> runs;
    double cycles = 0;
    for (const char* stream : row.streams) {
      auto report = timed_run({shared / stream, {}, row.system, row.mode});
      if (!report) continue;
      cycles += static_cast<double>(report->cycles.total);
      runs.push_back(std::move(*report));
    }
    if (runs.size() != row.streams.size()) continue;
    fmt::print("| {} | {:.0f} | {:.0f} | {} | {} | {} | {} |\n", row.what, cycles, row.cycles,
               difference(cycles, row.cycles), beats(runs, "AXI0_RD_DATA_BEAT_RECEIVED", row.axi0_read_beats),
               beats(runs, "AXI0_WR_DATA_BEAT_WRITTEN", row.axi0_write_beats),
               beats(runs, "AXI1_RD_DATA_BEAT_RECEIVED", row.axi1_read_beats));
  }
}

constexpr const char* kHead = R"(# The cycle model

This page describes how Carina estimates cycles, and how far the estimates are from those of other
sources. Every cycle count that Carina prints is an estimate. None was measured on hardware.
`cycle_table SHARED > docs/cycle-model.md` (a program of the tests) writes this page.

## The model
The model executes the command words and reads the registers of each operation. It does not know the
network. Its numbers are those of Vela's performance model (`facts/npu_performance.h`), its formulas
are in `src/npu/cost/cost.h`, which the planner's search uses too ([plan.md](plan.md)), and clocks
and memories are those of `vela.ini`. The parts of an operation are:

- **MAC**: OFM blocks are divided into microblocks. A microblock takes 4 cycles per tap (part
  kernel: per 4 taps, 2 with 16 bits; depthwise: per 4 taps), and on U55 and U65 at least the time
  in which its weights are decoded. A block of one microblock has a delay. On U85 a tap takes one
  cycle for 8 input channels, after padding: depth-first, channels to a multiple of 64 (32 with deep
  microblocks and at most 256 MACs, 128 if weights are sparse); part kernel, taps to groups of five,
  with at least two in the last group.
- **Output**: cycles per element, by operation, width and activation. An elementwise operation on
  bricks processes 8 channels at a time, or 16 where a U85's microblock is as deep.
- **Weight decode**: 8 weights per cycle on U55 and U65. On U85 it depends on the decoders, the
  format and the share of zeros. All weights are decoded once per block in the plane of the OFM. An
  operation of U85 that its decoders limit takes 1 / 0.77 of the time for which they work.
- **NPU**: MAC and output unit are a pipeline over the blocks. A block takes the time of the slower
  unit, or a quarter of the sum if the command unit is slower. The latencies of the first read and
  the last write are added. Elementwise operations are the same pipeline without MACs.
- **Access**: the bytes of full bursts that hold the useful bytes, divided by the port's width. A
  row of bricks is one burst, and so is an NHWC element of one channel. On U85, the bytes that a
  channel's read buffer holds during the latency are a limit too. Channels transfer in parallel.
- **Total**: the largest of NPU time and each port's access time. Kernels run one after the other.
  Transfers run in parallel to kernels until a wait command or a full queue stops the stream. If
  both together need more of a port than it has, each gets up to half of it plus what the other
  leaves. The time that a kernel loses to transfers is `exposed DMA`.

Not modeled: overlap of kernels (BLOCKDEP), refresh, other users of memory, driver, caches, jumps.

## Traffic
PMU counters, reports, access cycles and the planner's cost use `src/npu/cost/traffic.h`. Published
beat counters confirm the rules for U55. For U65 and U85 they are an assumption (16-byte beats).

| traffic | rule |
|---|---|
| IFM reads | the window of each OFM block, clipped to the IFM, in whole bricks; again for each OFM block in depth only if the IFM is deeper than an IFM block (32 channels, part kernel 16) |
| IFM reads of RESIZE | an element for each result |
| OFM writes | NHCWB16: whole bricks. NHWC: runs of 16 channels, each in aligned beats of its own |
| weights, scales | once per OFM block of the plane, through the port of their own region |
| command stream | once, through the port of the constants; it takes no cycles |

## Evidence
Constants without a row are Vela's. "Range": the values that do not contradict the runs below.

| constant | value | evidence | range |
|---|---|---|---|
| channels of an elementwise step (`kElementwiseChannels`) | 8 | Yolo-Fastest adds maps of 4 and 8 channels: the error falls from +10.4 and +11.1 % to about +2 % on two NPUs | 4 to 8 on U55; a guess on U65 and U85 (8 to 16) |
| share of time in which a limiting decoder of U85 works (`kU85DecoderUtilization`) | 0.77 | NPU_ACTIVE / WD_ACTIVE is 1.31 and 1.29 for a dense and a pruned perceptron | 0.75 to 0.80 on U85-128; a guess for other sizes |
| weights of U85 are decoded once per block of the plane | - | a guess: no published network separates it; MobileNetV2 is within 10 % with it | - |
| MAC time of U85 does not include decoding | - | MAC_ACTIVE is 8 k, as multiplications alone take; decoding would take 35 k | - |
| SRAM latency of `Ethos_U55_High_End_Embedded` | 32 cycles | a guess of Vela's; FVP runs agree | 16 to 64 |
| flash of the same | 1 byte per cycle | RNNoise reads 1.07 bytes per cycle on the FVP | 1.0 to 1.07 |
| overlap of kernels (BLOCKDEP) | none | two streams of one network (29 and 143 kernels) differ by 113 k cycles on the FVP, by 190 k here: there is some | none to all |
| latencies of U85's memories | those of `vela.ini` | none: the FVP runs set no latency. With `Ethos_U85_SYS_DRAM_Mid` the perceptron takes about 1.7 times the FVP's cycles | 0 to 500 cycles |

## How far to trust a figure
`compile`, `explain`, `run --timed` and their JSON print an interval beside the cycles: the range of
published / estimated cycles of that NPU family (`facts/npu_accuracy.h`), one for networks that
compute, and one for networks that wait for flash or DRAM during a quarter of their cycles or more.
No run of U65 is published, so its interval is assumed. U85 has three runs, all on U85-128: compare
streams by its figures, and do not plan by them.
)";

constexpr const char* kPublishedHead = R"(
## Against published figures
Cycles of one inference, and beats that the FVP counted. `a / b` is Carina's figure / the published
one. The FVP ran these very streams unless the row says otherwise.

)";

constexpr const char* kVelaHead = R"(
## Against Vela's own estimates
)";

constexpr const char* kDifferences = R"(
Vela omits contention of transfers, and on U85 the padding of channels and taps: the median is 7.7 %
for U55 and U65, and 20.3 % for U85. U85 layers without padding that do not wait for their decoders
are within 5 % of Vela's rows (`tests/integration/plan/test_cycle_model.py`). The largest
differences, which `cycle_table SHARED --streams` lists:
- *Transpositions*: on U55 the streams write many single bytes, each in a burst of its own.
- *Small elementwise operations*: at least the latencies of a read and a write; in Vela, less.
- *U85 memory*: Vela adds the times of all channels, Carina lets them transfer in parallel.
- *Dedicated_Sram*: Vela reads NHWC inputs of three channels in bursts of 3 bytes, Carina in rows.
)";

// `a / b` is Carina's figure / Vela's. MAC and output are the busy cycles of these units. Layout is the total of the
// pools that only move data, elementwise that of elementwise operations.
constexpr const char* kStreamsHead =
    "| stream | Carina | Vela | | MAC | output | layout | elementwise | SRAM MB | other memory MB |\n"
    "|---|---|---|---|---|---|---|---|---|---|\n";

constexpr const char* kAnchors = R"(
Figures of boards are wall-clock times with the driver and the CPU. Not comparable are networks
without a stream, boards with undocumented memories, and ExecuTorch's `add` on U55 (411 cycles).
)";

std::vector<Row> rows_of(const fs::path& shared) {
  std::vector<Row> rows;
  table(shared / "cases", "tosa_in_", rows);
  table(shared / "tflite", "input", rows);
  return rows;
}

}  // namespace

void print_document(const fs::path& shared);
void print_document(const fs::path& shared) {
  fmt::print("{}{}", kHead, kPublishedHead);
  print_published(shared);
  fmt::print("{}{}", kAnchors, kVelaHead);
  print_median(rows_of(shared));
  fmt::print("{}", kDifferences);
}

void print_streams(const fs::path& shared);
void print_streams(const fs::path& shared) {
  fmt::print("{}", kStreamsHead);
  for (const Row& row : rows_of(shared)) fmt::print("{}\n", row.line);
}

}  // namespace carina::simulate

int main(int argc, char** argv) {
  const bool streams = argc == 3 && std::string_view(argv[2]) == "--streams";
  if (argc != 2 && !streams) return 2;
  if (streams)
    carina::simulate::print_streams(argv[1]);
  else
    carina::simulate::print_document(argv[1]);
  return 0;
}
