#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "carina/result.h"
#include "simulate/interface/options.h"
#include "simulate/interface/report.h"

// The Ethos-U simulator.
namespace carina::simulate {

// An Ethos-U NPU. It caches decoded weights (by content) between runs, so the second inference of a network is faster.
// Not safe for concurrent calls of run().
class Simulator {
 public:
  explicit Simulator(Options options);
  ~Simulator();
  Simulator(Simulator&&) noexcept;
  Simulator& operator=(Simulator&&) noexcept;

  // Executes a driver payload ("COP1"), which reads and writes `memory`. Errors: a malformed payload or stream; an NPU
  // that does not match; an access outside its region; a forbidden register state; a limit reached. Each has the
  // command's index, and the address if there is one. After an error, the memory holds what was written before it.
  Result<Report> run(std::span<const std::byte> payload, const Memory& memory);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// One run with a new Simulator.
Result<Report> run(std::span<const std::byte> payload, const Memory& memory, const Options& options);

}  // namespace carina::simulate
