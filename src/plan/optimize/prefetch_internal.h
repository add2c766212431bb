#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// The prefetcher: decides when data in slow memory is copied to fast memory. It is an algorithm on plain numbers that
// stage_weights() and cut_depth() use. Kernels run one after the other. While a kernel runs, the transfer engine copies
// data for later kernels.
//   Example: kernels A, B and C take 1000 cycles each. C reads 3000 bytes, which are copied at 2 bytes per cycle.
//   The copy takes 1500 cycles: its last 1000 cycles run during B, and its first 500 cycles during A.
namespace carina::plan {

// Bytes that kernels may read from slow memory in place, or from a copy.
struct PrefetchObject {
  int64_t bytes = 0;
  double cycles = 0;      // of a copy of the whole object
  double port_share = 1;  // share of the slow port that a copy takes
};

struct PrefetchKernel {
  static constexpr size_t kReads = 2;
  int64_t free_bytes = 0;  // of fast memory, while the kernel runs
  size_t reads = 0;
  std::array<size_t, kReads> objects = {};  // different ones
  // Variants of a kernel, by the set of its objects that it reads from a copy (bit i: objects[i]).
  struct Variant {
    double cycles = 0;
    double slow_port_cycles = 0;  // for which the kernel keeps the slow port busy
  };
  std::array<Variant, 1 << kReads> variants = {};
};

// A mandatory copy. Its destination is reserved, and free after `not_before` kernels. Its source may be an object,
// which no kernel reads: from a copy of the object in fast memory, the mandatory copy takes fewer cycles.
//   Example: five kernels need the same table of 2 kB, and each finds another table in the NPU's only slot. Five times
//   2,100 cycles from flash become one copy of 2,100 cycles to SRAM and five loads of 280 cycles.
struct FixedCopy {
  size_t kernel = 0;  // the first kernel that reads it
  size_t not_before = 0;
  double cycles = 0;
  std::optional<size_t> object = {};  // at most one fixed copy of a kernel has one
  double cycles_from_copy = 0;
};

struct PrefetchCopy {
  size_t object = 0;
  std::vector<size_t> users = {};  // kernels, ascending: they read it, or a fixed copy for them does
  size_t last_kernel = 0;          // the kernel during which its last part runs
  bool operator==(const PrefetchCopy&) const = default;
};

// One command of the transfer engine: a part of a copy, or a fixed copy.
struct PrefetchCommand {
  size_t during = 0;  // the first kernel during which it may run
  size_t user = 0;    // the first kernel that needs it
  std::optional<size_t> copy = {};
  size_t fixed = 0;
  int64_t first_byte = 0;
  int64_t bytes = 0;
  bool operator==(const PrefetchCommand&) const = default;
};

// When a copy is kept in memory between two readers. kBold: whenever its bytes fit. kCautious: only if no pending copy
// for another kernel wants those bytes at that time.
enum class Keeping : uint8_t { kBold, kCautious };

// By kernel: bit r allows read r from a copy: for r < kReads that of objects[r], for r = kReads that of its fixed
// copy's object. Bit kReads + 1 + r allows that copy to be kept from the previous reader.
using Choice = std::vector<uint8_t>;

// The result of a search. A later search with less memory or more banned copies can start from it.
struct PrefetchFinding {
  Choice choice = {};
  Keeping keeping = Keeping::kBold;
  bool ended_early = false;  // because of the limit of work
};

struct PrefetchPlan {
  std::vector<PrefetchCopy> copies = {};
  std::vector<PrefetchCommand> commands = {};  // in order; the parts of a copy from its first byte to its last
  std::vector<uint8_t> staged = {};            // by kernel: its variant
  double cycles = 0;                           // planned, of the whole problem
  PrefetchFinding finding = {};
};

struct PrefetchProblem {
  std::vector<PrefetchKernel> kernels = {};
  std::vector<PrefetchObject> objects = {};
  std::vector<FixedCopy> fixed = {};  // in the order of their kernels
  // Pairs (kernel, object). The object is not copied for that kernel, or not before the previous kernel.
  std::set<std::pair<size_t, size_t>> banned = {};
  std::set<std::pair<size_t, size_t>> late = {};
  double command_cycles = 0;  // fixed cycles of one copy command
  size_t max_work = 300'000;  // limit of a search: kernels visited
};

// Plans all copies in one or more backward passes over the kernels. A pass goes from the last kernel to the first and
// lets every copy end as late as possible. So a copy uses the time of the kernels just before its reader and lives as
// short as possible. A copy needs fast memory for the part that has been copied. If that memory is missing, the copy is
// made after the previous kernel, which delays the reader. A search decides which reads use copies and which copies are
// kept for several readers; it compares the total cycles (prefetch_sweep_internal.h). The time is proportional to
// `max_work`; at least one pass is always made.
PrefetchPlan plan_prefetch(const PrefetchProblem& problem);

// Plans a problem with the kernels and objects of an earlier one, starting from the earlier result. It is faster than a
// new search.
PrefetchPlan plan_prefetch(const PrefetchProblem& problem, const PrefetchFinding& earlier);

}  // namespace carina::plan
