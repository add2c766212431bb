#pragma once

#include <array>
#include <string_view>

#include "facts/npu_memories.h"

// System configurations of public boards and virtual platforms, which users name like those of vela.ini
// (docs/guide/boards.md).
namespace carina::npu {

struct Board {
  SystemConfig system;
  std::string_view board;
  std::string_view memories;  // the source of the memories' timing
  std::string_view evidence;  // the published run that supports the row, or "unverified"
};

// The vendor documents no timing: that of Ethos_U55_High_End_Embedded, with the board's clock and a clock scale of the
// memory of the constants.
constexpr SystemConfig nuvoton_m55m1(std::string_view name, double constants_clock_scale) {
  SystemConfig system = *find_system_config("Ethos_U55_High_End_Embedded");
  system.name = name;
  system.core_clock_hz = 220e6;
  system.ports[1].clock_scale = constants_clock_scale;
  return system;
}

inline constexpr auto kBoards = std::to_array<Board>({
    {.system = {.name = "Alif_E7_HE",
                .product = Product::kU55,
                .core_clock_hz = 160e6,
                .ports = {{{.kind = MemoryKind::kSram,
                            .clock_scale = 1.0,
                            .ports_used = 1,
                            .burst_bytes = 8,
                            .read_latency_cycles = 13,
                            .write_latency_cycles = 13,
                            .max_reads = 4,
                            .max_writes = 4},
                           {.kind = MemoryKind::kOffChipFlash,
                            .clock_scale = 0.303,
                            .ports_used = 1,
                            .burst_bytes = 16,
                            .read_latency_cycles = 24,
                            .write_latency_cycles = 24,
                            .max_reads = 2,
                            .max_writes = 0}}}},
     .board = "Alif Ensemble E7, high-efficiency subsystem: ethos-u55-128, SRAM, constants in MRAM",
     .memories = "RTSS_HE_SRAM_MRAM of the vendor's ensemble_vela.ini",
     .evidence = "2.727 ms for kws_micronet_m (the vendor's ML_Embedded_Evaluation_Kit.md)"},
    {.system = {.name = "Corstone_320_FVP",
                .product = Product::kU85,
                .core_clock_hz = 1e9,
                .ports = {{{.kind = MemoryKind::kSram,
                            .clock_scale = 1.0,
                            .ports_used = 2,
                            .burst_bytes = 64,
                            .read_latency_cycles = 0,
                            .write_latency_cycles = 0,
                            .max_reads = 8,
                            .max_writes = 8},
                           {.kind = MemoryKind::kOffChipFlash,
                            .clock_scale = 1.0,
                            .ports_used = 1,
                            .burst_bytes = 128,
                            .read_latency_cycles = 0,
                            .write_latency_cycles = 0,
                            .max_reads = 64,
                            .max_writes = 32}}}},
     .board = "Corstone-320 FVP as ExecuTorch's runner starts it: ethos-u85, memories without latency",
     .memories = "ExecuTorch's runner sets no memory timing in Shared_Sram",
     .evidence = "MobileNetV2 and two perceptrons (ExecuTorch's tutorial and pruning notebook)"},
    {.system = nuvoton_m55m1("Nuvoton_M55M1", 0.125),
     .board = "Nuvoton NuMaker-X-M55M1: ethos-u55-256, SRAM, constants in internal flash",
     .memories = "unverified: those of Ethos_U55_High_End_Embedded; the vendor documents no timing",
     .evidence = "unverified; 1,946.9 inferences of RNNoise per second (the vendor's README) agree within 2 %"},
    {.system = nuvoton_m55m1("Nuvoton_M55M1_HyperRAM", 0.075),
     .board = "the same board with constants in HyperRAM",
     .memories = "as Nuvoton_M55M1, with the bandwidth that `carina calibrate-board` fits to the networks below",
     .evidence =
         "39.5, 34.0 and 32.7 inferences of a hand landmark network, YOLOv8n-od and YOLOv8n-pose per second "
         "(the vendor's READMEs) agree within 4 %; MobileFaceNet and an anti-spoofing MobileNetV3 are 11 and 30 % "
         "faster than estimated"},
});
constexpr const Board* find_board(std::string_view name) {
  for (const Board& board : kBoards) {
    if (board.system.name == name) return &board;
  }
  return nullptr;
}

}  // namespace carina::npu
