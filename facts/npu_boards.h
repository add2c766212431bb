#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "facts/npu_memories.h"

// Public boards and virtual platforms. The name of a row is that of a system configuration, which users give like those
// of vela.ini, and that of `--board`, which also sets the NPU and the budgets (docs/guide/boards.md).
namespace carina::npu {

struct Board {
  SystemConfig system;
  std::string_view board;
  std::string_view chip;         // for a list: the chip, and which of its subsystems has the NPU
  std::string_view accelerator;  // the NPU of the board; of a virtual platform, its default
  std::string_view memory_mode;  // constants in flash, the arena in SRAM
  int64_t sram_bytes;            // all that the NPU reaches; the application needs a part of it
  int64_t flash_bytes;           // where the program's file and its weights lie; 0: no limit is documented
  std::string_view sizes;        // the source of both sizes
  std::string_view memories;     // the source of the memories' timing
  std::string_view evidence;     // the published run that supports the row, or "unverified"
};

inline constexpr int64_t kKib = 1024;
inline constexpr int64_t kMib = 1024 * kKib;

// For boards whose vendor documents no timing: that of Ethos_U55_High_End_Embedded, with the board's clock and the
// bandwidth of the memory of the constants as a part of the port's.
constexpr SystemConfig like_high_end(std::string_view name, double clock_hz, double constants_clock_scale) {
  SystemConfig system = *find_system_config("Ethos_U55_High_End_Embedded");
  system.name = name;
  system.core_clock_hz = clock_hz;
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
     .chip = "Alif Ensemble E7, high efficiency",
     .accelerator = "ethos-u55-128",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 6656 * kKib,  // SRAM0 of 4 MB and SRAM1 of 2.5 MB
     .flash_bytes = 5632 * kKib,
     .sizes = "the vendor's alif_ml-embedded-evaluation-kit, linker script AE722F80F55D5/rtss_he/RTSS-HE-SRAM.sct",
     .memories = "RTSS_HE_SRAM_MRAM of the vendor's ensemble_vela.ini",
     .evidence = "2.727 ms for kws_micronet_m (the vendor's ML_Embedded_Evaluation_Kit.md)"},
    {.system = {.name = "Alif_E7_HP",
                .product = Product::kU55,
                .core_clock_hz = 400e6,
                .ports = {{{.kind = MemoryKind::kSram,
                            .clock_scale = 0.762,
                            .ports_used = 1,
                            .burst_bytes = 8,
                            .read_latency_cycles = 29,
                            .write_latency_cycles = 29,
                            .max_reads = 4,
                            .max_writes = 4},
                           {.kind = MemoryKind::kOffChipFlash,
                            .clock_scale = 0.121,
                            .ports_used = 1,
                            .burst_bytes = 16,
                            .read_latency_cycles = 60,
                            .write_latency_cycles = 60,
                            .max_reads = 2,
                            .max_writes = 0}}}},
     .board = "Alif Ensemble E7, high-performance subsystem: ethos-u55-256, SRAM, constants in MRAM",
     .chip = "Alif Ensemble E7, high performance",
     .accelerator = "ethos-u55-256",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 6656 * kKib,
     .flash_bytes = 5632 * kKib,
     .sizes = "the same chip as Alif_E7_HE",
     .memories = "RTSS_HP_SRAM_MRAM of the vendor's ensemble_vela.ini",
     .evidence = "unverified: no published run was compared"},
    {.system = like_high_end("Corstone_300", 500e6, 0.125),
     .board = "Arm Corstone-300 on MPS3, and its FVP: ethos-u55, SRAM, constants in DDR in the place of flash",
     .chip = "Arm Corstone-300 (MPS3, FVP)",
     .accelerator = "ethos-u55-128",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 2 * kMib,
     .flash_bytes = 32 * kMib,
     .sizes = "Arm's ML embedded evaluation kit, memory_considerations.md and the linker script of SSE-300",
     .memories = "those of Ethos_U55_High_End_Embedded in Vela's vela.ini",
     .evidence = "unverified: the FVP has no memory timing of its own"},
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
     .chip = "Arm Corstone-320 (FVP)",
     .accelerator = "ethos-u85-256",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 4 * kMib,
     .flash_bytes = 0,
     .sizes = "ExecuTorch's Corstone-320.ld; the program lies in DDR",
     .memories = "ExecuTorch's runner sets no memory timing in Shared_Sram",
     .evidence = "MobileNetV2 and two perceptrons (ExecuTorch's tutorial and pruning notebook)"},
    {.system = like_high_end("Nuvoton_M55M1", 220e6, 0.125),
     .board = "Nuvoton NuMaker-X-M55M1: ethos-u55-256, SRAM, constants in internal flash",
     .chip = "Nuvoton M55M1",
     .accelerator = "ethos-u55-256",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 1344 * kKib,
     .flash_bytes = 2 * kMib,
     .sizes = "docs.zephyrproject.org, board numaker_m55m1",
     .memories = "unverified: those of Ethos_U55_High_End_Embedded; the vendor documents no timing",
     .evidence = "unverified; 1,946.9 inferences of RNNoise per second (the vendor's README) agree within 2 %"},
    {.system = like_high_end("Nuvoton_M55M1_HyperRAM", 220e6, 0.075),
     .board = "Nuvoton NuMaker-X-M55M1 with constants in HyperRAM",
     .chip = "Nuvoton M55M1, constants in HyperRAM",
     .accelerator = "ethos-u55-256",
     .memory_mode = "Shared_Sram",
     .sram_bytes = 1344 * kKib,
     .flash_bytes = 0,
     .sizes = "as Nuvoton_M55M1; the vendor documents no size of the HyperRAM",
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
