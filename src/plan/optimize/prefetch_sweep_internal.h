#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "plan/optimize/prefetch_internal.h"

// One pass over all kernels of a prefetch problem, from the last to the first, for a given choice of copies.
namespace carina::plan {

inline constexpr size_t kNoIndex = static_cast<size_t>(-1);  // no kernel, object or demand

inline constexpr int64_t kPartUnitBytes = 16;  // parts of a copy are multiples of it

// The reads that a kernel may have: those of its objects, then that of its fixed copy.
inline constexpr size_t kFixedRead = PrefetchKernel::kReads;
inline constexpr size_t kAllReads = PrefetchKernel::kReads + 1;

// The bits of a Choice.
constexpr uint8_t copy_bit(size_t read) {
  return static_cast<uint8_t>(1 << read);
}
constexpr uint8_t keep_bit(size_t read) {
  return static_cast<uint8_t>(1 << (kAllReads + read));
}

// By kernel and read: the last earlier kernel that reads the same object.
using PreviousReaders = std::vector<std::array<size_t, kAllReads>>;

PreviousReaders previous_readers(const PrefetchProblem& problem);

// The read of `object` by a kernel that reads it, or whose fixed copy does.
size_t read_of(const PrefetchKernel& kernel, size_t object);

// A pending copy. The pass moves it from its readers back to its start.
struct Demand {
  size_t object = kNoIndex;  // kNoIndex: a fixed copy
  size_t fixed = kNoIndex;
  bool from_copy = false;  // a fixed copy whose source is a copy of its object
  int64_t bytes = 0;
  double cycles = 0;
  double left = 0;  // cycles that are not scheduled yet
  size_t not_before = 0;
  size_t first_user = 0;
  bool waited_for = false;  // a kernel waits for it, or for a copy that it delays
  [[nodiscard]] int64_t bytes_left() const {
    if (left >= cycles) return bytes;
    return std::min(bytes, static_cast<int64_t>(static_cast<double>(bytes) * left / cycles) + kPartUnitBytes);
  }
};

// A scheduled part of a copy. Observers of a pass receive the parts from the last to the first.
struct CopyPart {
  size_t demand;
  double cycles;
  size_t window;  // the kernel during which it runs
};

class Sweep {
 public:
  Sweep(const PrefetchProblem& problem, const PreviousReaders& previous, Keeping keeping);

  // Runs the pass.
  void run(const Choice& choice);

  // Returns cycles() of a run with `choice`, which differs from the choice of the last run or take() only in the given
  // kernels and objects. Infinite if they certainly exceed `max_cycles`. The other results are incomplete afterwards.
  //
  // The pass begins above the changed kernels, with the copies that were pending or kept there in the last run. Where
  // none is, the kernels below do not depend on the kernels above, so it ends at the first such place below them.
  //   Example: copies are pending in kernels 7 to 9 and 2 to 4 only. A change in kernel 8 visits kernels 8 and 7.
  struct Changed {
    size_t first = 0;  // the lowest changed kernel
    size_t last = 0;   // the highest changed kernel, or the highest one that could keep a copy for a changed kernel
  };
  [[nodiscard]] double cycles_with(const Choice& choice, const Changed& changed, double max_cycles);

  // Returns cycles() of a run with `choice`, which then counts as that of the last run for later calls. Visits the
  // kernels that cycles_with() visits; so the other results are those of a run() only after the next one.
  double take(const Choice& choice, const Changed& changed);

  [[nodiscard]] double cycles() const;
  [[nodiscard]] const std::vector<Demand>& demands() const { return demands_; }
  [[nodiscard]] const std::vector<CopyPart>& parts() const { return parts_; }
  [[nodiscard]] const Choice& staged() const { return staged_; }
  // Pairs (kernel, demand), descending: one for each copy that a kernel reads.
  [[nodiscard]] const std::vector<std::pair<size_t, size_t>>& readers() const { return readers_; }

 private:
  enum class Remember : uint8_t { kNo, kYes };

  // The state of the last run before it visited a kernel, or at its end.
  struct Before {
    double spent = 0;
    size_t fixed = 0;
    bool is_independent = true;
    bool is_known = true;  // its copies are in copies_before_: from `copies` on the pending ones, then the kept ones
    size_t copies = 0;
    size_t pending = 0;
    size_t kept = 0;
  };
  struct CopyBefore {
    Demand demand;
    size_t kept_from = 0;  // the first kernel in which a kept copy takes memory
  };

  void start(const Choice& choice);
  void start_at(size_t k);
  void visit(size_t k);
  [[nodiscard]] double pass(const Choice& choice, const Changed& changed, double max_cycles, Remember remembers);
  void remember(size_t k);
  void take_copies(const Before& before, size_t k);
  // Frees the memory of copies that have been kept for kernels [first, end).
  void forget_kept(size_t first, size_t end);
  [[nodiscard]] bool is_independent() const {
    return front_ == queue_.size() && kept_objects_.empty() && resident_ == 0;
  }
  [[nodiscard]] bool may_copy(size_t k, size_t r) const { return ((*choice_)[k] & copy_bit(r)) != 0; }
  [[nodiscard]] bool may_keep(size_t k, size_t r) const { return ((*choice_)[k] & keep_bit(r)) != 0; }

  // Adds the demands of kernel `k`, which must be complete before it starts. Adds stalls after it for bytes that do not
  // fit in memory with it.
  void read(size_t k);
  // The copy from which read `r` of kernel `k` is made, beside `own` bytes that the kernel reads from other copies;
  // kNoIndex if it is made in place. A copy that no earlier kernel reads becomes a fresh demand.
  size_t copy_for(size_t k, size_t r, size_t object, int64_t own);
  size_t demand(size_t k, size_t object);

  // Keeps a copy for an earlier reader, if its bytes fit all the way between. The copy then starts before that reader.
  bool keep(size_t d, size_t previous, size_t k);

  void add_fixed(size_t fixed);
  // Counts a demand that enters the queue, if it may not begin before a kernel.
  void add_start(const Demand& demand);

  // The cycles of kernel `k` in which transfers can run without slowing it.
  [[nodiscard]] double capacity(size_t k, const Demand& demand) const;

  // Schedules copies during kernel `k`. The copies that are read last run at its end.
  void serve(size_t k);
  void copy_front(double cycles, size_t window);

  // Reserves memory during kernel `k` for the copies that start before it.
  void reserve_for_starts(size_t k);
  // Stalls at the start of kernel `k` until `bytes` of the first copy in the queue have been copied, or all of its
  // rest.
  void wait_for_bytes(int64_t bytes, size_t k);
  // Adds a stall. All pending copies are part of its cause.
  void wait(double cycles, size_t kernel);

  const PrefetchProblem& problem_;
  const PreviousReaders& previous_;
  Keeping keeping_;
  const Choice* choice_ = nullptr;
  std::vector<double> stalls_;             // by kernel: cycles for which it waits for copies
  std::vector<double> min_cycles_before_;  // by kernel: minimum cycles of all earlier kernels
  double spent_ = 0;                       // cycles of the kernels visited so far, stalls included
  std::vector<Before> before_;             // at k: kernels k and later have been visited
  std::vector<CopyBefore> copies_before_;
  size_t copies_of_run_ = 0;  // the size of copies_before_ after the last run()
  double spent_by_run_ = 0;
  Choice staged_;
  std::vector<int64_t> all_free_;  // by kernel: without kept copies
  std::vector<int64_t> free_;
  std::vector<std::array<double, 1 << PrefetchKernel::kReads>> port_rest_;  // by kernel and variant
  std::vector<size_t> kept_;          // by object: the demand that is kept for an earlier reader
  std::vector<size_t> kept_from_;     // by object that is kept: the first kernel in which it takes memory
  std::vector<size_t> kept_objects_;  // whose copies are kept
  size_t lowest_kept_ = 0;            // the lowest kernel for which a copy has been kept
  std::vector<Demand> demands_;
  std::vector<CopyPart> parts_;
  std::vector<std::pair<size_t, size_t>> readers_;
  std::vector<size_t> queue_;  // pending demands, the ones that are read last first; parts of them may be scheduled
  size_t front_ = 0;           // of the queue
  size_t waiting_ = 0;         // kernels wait for all demands before this place of the queue
  size_t late_ = 0;            // pending demands with a `not_before`
  size_t latest_start_ = 0;    // no pending demand has a larger `not_before`
  size_t fixed_ = 0;           // fixed copies that have not been reached
  int64_t resident_ = 0;       // bytes of them that are not copied yet
  std::vector<size_t> fresh_;
};

}  // namespace carina::plan
