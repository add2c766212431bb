#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

// When what lies in slow memory is copied to fast memory: an algorithm on plain figures, which stage_weights() and
// cut_depth() ask. Kernels run one after the other; while each runs, the transfer engine copies what later ones read.
namespace carina::plan {

// Bytes that kernels may read from slow memory in place, or from a copy.
struct PrefetchObject {
  int64_t bytes = 0;
  double cycles = 0;      // that a copy of all of it takes
  double port_share = 1;  // of the slow port, that a copy takes
};

struct PrefetchKernel {
  static constexpr size_t kReads = 2;
  int64_t free_bytes = 0;  // of fast memory, while it runs
  size_t reads = 0;
  std::array<size_t, kReads> objects = {};
  // By which of its objects are read from a copy (bit i: objects[i]).
  struct Variant {
    double cycles = 0;
    double slow_port_cycles = 0;  // for which it keeps the slow port busy
  };
  std::array<Variant, 1 << kReads> variants = {};
};

// A copy that has to be made, to a place of its own that is free after `not_before` kernels.
struct FixedCopy {
  size_t kernel = 0;  // the first that reads it
  size_t not_before = 0;
  double cycles = 0;
};

struct PrefetchCopy {
  size_t object = 0;
  std::vector<size_t> users = {};  // kernels, ascending
  size_t last_kernel = 0;          // the kernel beside which its last part runs
  bool operator==(const PrefetchCopy&) const = default;
};

// What the transfer engine does: a part of a copy, or a fixed copy.
struct PrefetchCommand {
  size_t during = 0;  // the first kernel beside which it may run
  size_t user = 0;    // the first kernel that needs it
  std::optional<size_t> copy = {};
  size_t fixed = 0;
  int64_t first_byte = 0;
  int64_t bytes = 0;
  bool operator==(const PrefetchCommand&) const = default;
};

// What a copy that is kept from reader to reader needs of the memory all the way: that it may be given to it, or that
// nothing on its way to other kernels wants it now.
enum class Keeping : uint8_t { kBold, kCautious };

// By kernel: which of its reads may be copies (bit r: objects[r]), and which of these may be kept from the reader in
// front (bit kReads + r).
using Choice = std::vector<uint8_t>;

// What a search has found: another, for less memory or with more that is banned, may go on from there.
struct PrefetchFinding {
  Choice choice = {};
  Keeping keeping = Keeping::kBold;
  bool ended_early = false;  // for the limit of its work
};

struct PrefetchPlan {
  std::vector<PrefetchCopy> copies = {};
  std::vector<PrefetchCommand> commands = {};  // in order; the parts of a copy from its first byte to its last
  std::vector<uint8_t> staged = {};            // by kernel: its variant
  double cycles = 0;                           // of everything, as planned
  PrefetchFinding finding = {};
};

struct PrefetchProblem {
  std::vector<PrefetchKernel> kernels = {};
  std::vector<PrefetchObject> objects = {};
  std::vector<FixedCopy> fixed = {};  // in the order of their kernels
  // (kernel, object) that is not copied, or not before the kernel in front.
  std::set<std::pair<size_t, size_t>> banned = {};
  std::set<std::pair<size_t, size_t>> late = {};
  double command_cycles = 0;  // of a copy, whatever its bytes
  size_t max_work = 300'000;  // of a search: kernels gone through
};

// Goes from the last kernel to the first, and lets every copy end as late as it may: so the copies fill the time of the
// kernels in front of their readers, and live shortest. A copy needs room for what has been copied of it; where that is
// missing, the kernel behind waits for so many bytes. Which reads are copies, and which copies are kept for several
// readers, a search decides by the cycles of the whole (prefetch_sweep.h). Takes time in proportion to `max_work`, and
// a way through the kernels at least.
PrefetchPlan plan_prefetch(const PrefetchProblem& problem);

// The same for a problem with the kernels and objects of an earlier one, from what was found there: takes a part of the
// time.
PrefetchPlan plan_prefetch(const PrefetchProblem& problem, const PrefetchFinding& earlier);

}  // namespace carina::plan
