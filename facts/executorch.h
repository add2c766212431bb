#pragma once

#include <array>
#include <cstdint>
#include <string_view>

// Constants of ExecuTorch's file formats, and the form of its CPU kernels.
namespace carina {

// Element types with their numbers in .pte files (c10::ScalarType). Source: ExecuTorch's scalar_type.fbs.
enum class PteScalarType : int8_t {
  kByte = 0,
  kChar = 1,
  kShort = 2,
  kInt = 3,
  kLong = 4,
  kHalf = 5,
  kFloat = 6,
  kDouble = 7,
  kComplexHalf = 8,
  kComplexFloat = 9,
  kComplexDouble = 10,
  kBool = 11,
  kBFloat16 = 15,
  kUInt16 = 27,
  kUInt32 = 28,
};

// Fixed numbers of .pte files. Source: ExecuTorch's extended header and its program emitter.
inline constexpr std::string_view kPteIdentifier = "ET12";
inline constexpr std::string_view kPteExtendedHeaderMagic = "eh00";
inline constexpr uint32_t kPteExtendedHeaderBytes = 32;
inline constexpr uint64_t kPteSegmentAlignmentBytes = 128;
inline constexpr uint64_t kPteConstantAlignmentBytes = 16;
inline constexpr uint64_t kPtePlannedAlignmentBytes = 16;
inline constexpr std::string_view kEthosUBackendId = "EthosUBackend";
inline constexpr std::string_view kOldEthosUBackendId = "ArmBackend";  // before ExecuTorch 0.4
inline constexpr std::string_view kVgfBackendId = "VgfBackend";
inline constexpr std::string_view kTosaBackendId = "TOSABackend";
inline constexpr std::string_view kTosaSubsetOfSmallNpus = "u55";  // suffix of a TOSA specification of the Arm backend
constexpr bool is_ethos_u(std::string_view delegate) {
  return delegate == kEthosUBackendId || delegate == kOldEthosUBackendId;
}
inline constexpr int8_t kPteSegmentLocation = 1;   // of a delegate's data: in a segment; 0: in the FlatBuffer
inline constexpr int8_t kPteExternalLocation = 1;  // of a tensor's data: in external named data; 0: in the program

inline constexpr int8_t kPteStaticShape = 0;  // of a tensor; for other values, its sizes are upper bounds

// External named data (.ptd). Source: ExecuTorch's flat_tensor serialization.
inline constexpr std::string_view kPtdIdentifier = "FT01";
inline constexpr std::string_view kPtdHeaderMagic = "FH01";
inline constexpr uint32_t kPtdHeaderBytes = 40;

// A program with test cases (.bpte). Source: ExecuTorch's bundled_program serialization and version.py.
inline constexpr std::string_view kBundledProgramIdentifier = "BP08";
inline constexpr uint32_t kBundledProgramVersion = 2;
inline constexpr uint64_t kBundledProgramAlignmentBytes = 32;
// The tolerance of outputs: |got - expected| <= absolute + relative * |expected|. Source: the defaults of ExecuTorch's
// verify_method_outputs.
inline constexpr double kBundledRelativeTolerance = 1e-5;
inline constexpr double kBundledAbsoluteTolerance = 1e-8;

// The record of a run (ETDump). Source: ExecuTorch's etdump_flatcc.cpp.
inline constexpr std::string_view kEtDumpIdentifier = "ED00";
inline constexpr uint32_t kEtDumpVersion = 0;

}  // namespace carina
