#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "plan/optimize/prefetch_internal.h"

// One way through all kernels of a prefetch problem, from the last to the first, for a given choice of what is copied.
namespace carina::plan {

inline constexpr size_t kNobody = static_cast<size_t>(-1);  // no kernel, object or demand

inline constexpr int64_t kPartUnitBytes = 16;  // of which parts of a copy are multiples

// Bits of a choice.
constexpr uint8_t copy_bit(size_t read) {
  return static_cast<uint8_t>(1 << read);
}
constexpr uint8_t keep_bit(size_t read) {
  return static_cast<uint8_t>(1 << (PrefetchKernel::kReads + read));
}

// By kernel and read: the last kernel in front that reads the same object.
using PreviousReaders = std::vector<std::array<size_t, PrefetchKernel::kReads>>;

PreviousReaders previous_readers(const PrefetchProblem& problem);

// A copy on its way from its readers back to its start.
struct Demand {
  size_t object = kNobody;  // kNobody: a fixed copy
  size_t fixed = kNobody;
  int64_t bytes = 0;
  double cycles = 0;
  double left = 0;  // cycles that are not placed yet
  size_t not_before = 0;
  size_t first_user = 0;
  bool waited_for = false;  // or in the way of another that is
  [[nodiscard]] int64_t bytes_left() const {
    if (left >= cycles) return bytes;
    return std::min(bytes, static_cast<int64_t>(static_cast<double>(bytes) * left / cycles) + kPartUnitBytes);
  }
};

// What a sweep tells whoever watches it: parts of copies from the last to the first.
struct CopyPart {
  size_t demand;
  double cycles;
  size_t window;  // the kernel whose time it takes
};

class Sweep {
 public:
  Sweep(const PrefetchProblem& problem, const PreviousReaders& previous, Keeping keeping);

  // Ends early where the whole is sure to take more than `max_cycles`: cycles() is infinite then, the rest unfinished.
  void run(const Choice& choice, double max_cycles = std::numeric_limits<double>::infinity());

  [[nodiscard]] double cycles() const;
  [[nodiscard]] const std::vector<Demand>& demands() const { return demands_; }
  [[nodiscard]] const std::vector<CopyPart>& parts() const { return parts_; }
  [[nodiscard]] const Choice& staged() const { return staged_; }
  // Descending: (kernel, demand) for each copy that a kernel reads.
  [[nodiscard]] const std::vector<std::pair<size_t, size_t>>& readers() const { return readers_; }

 private:
  void start(const Choice& choice);
  void go_through(size_t k);
  [[nodiscard]] bool may_copy(size_t k, size_t r) const { return ((*choice_)[k] & copy_bit(r)) != 0; }
  [[nodiscard]] bool may_keep(size_t k, size_t r) const { return ((*choice_)[k] & keep_bit(r)) != 0; }

  // Demands that kernel `k` makes, to be met before it starts. Waits behind it for what it leaves no room for.
  void read(size_t k);
  size_t demand(size_t k, size_t object);

  // Keeps a copy from its reader in front, if there is room for it all the way: that one starts it then.
  bool keep(size_t d, size_t previous, size_t k);

  void add_fixed(size_t fixed);

  // The time of kernel `k` in which transfers may run without slowing it.
  [[nodiscard]] double capacity(size_t k, const Demand& demand) const;

  // Lets copies run beside kernel `k`, those that are read last at the end of it.
  void serve(size_t k);
  void copy_front(double cycles, size_t window);

  // What has not been copied yet when time goes on to kernel `k`, has to lie there beside it.
  void let_in(size_t k);
  // Waits at the start of kernel `k` for so many bytes of the copy in front, or for all that is left of it.
  void wait_for_bytes(int64_t bytes, size_t k);
  // All that is under way has a part in it.
  void wait(double cycles, size_t kernel);

  const PrefetchProblem& p_;
  const PreviousReaders& previous_;
  Keeping keeping_;
  const Choice* choice_ = nullptr;
  std::vector<double> stalls_;             // by kernel: what it waits for copies
  std::vector<double> min_cycles_before_;  // by kernel: cycles of those in front of it
  double spent_ = 0;                       // by the kernels that have been gone through, waiting included
  bool ended_early_ = false;
  Choice staged_;
  std::vector<int64_t> free_;
  std::vector<size_t> kept_;  // by object: the demand that is kept back to its user in front
  std::vector<Demand> demands_;
  std::vector<CopyPart> parts_;
  std::vector<std::pair<size_t, size_t>> readers_;
  std::vector<size_t> queue_;  // demands under way, those that are read last in front: of which a part may be placed
  size_t front_ = 0;           // of the queue
  size_t fixed_ = 0;           // copies that have not come yet
  int64_t resident_ = 0;       // what is left of these, in bytes
  std::vector<size_t> fresh_;
};

}  // namespace carina::plan
