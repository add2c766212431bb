#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/backend.h"
#include "runtime/program.h"

namespace carina::pte::schema {
struct DelegateCall;
}  // namespace carina::pte::schema

namespace carina::runtime {

// The state of a method that may stay in the scratch memory of the delegate that reads and writes it. The delegate then
// copies none of it, and it takes no planned memory. The scratch memory must be the delegate's alone between the runs.
//   Example: a delegate has x at 0, h at 64 and y at 192 of its scratch memory, and writes the next h to 64. Without
//   this, h lies in planned memory too, and each run copies it to 64 and back.
// A state stays if
//   - the method calls one delegate, in no loop, and the state is once among its inputs and once among its outputs;
//   - no other instruction, list, input or output has the state, and no other tensor has its planned memory;
//   - no other method shares it;
//   - what is copied to the scratch memory before a run, and moved in it afterwards, overwrites no state.
// A next state may lie beside the place of the state, as that of a ring does: it is then moved after the run.
class DelegateState {
 public:
  DelegateState() = default;
  // Finds the state by the places that `place_of` gives for the arguments of the method's delegate.
  DelegateState(const Program& program, size_t method, PlaceOf place_of);
  // The same with the places that the backends know.
  DelegateState(const Program& program, size_t method, std::span<Backend* const> backends);

  // The bytes of the delegate's scratch memory, which must stay as it is between the runs; 0: no state stays there.
  [[nodiscard]] size_t scratch_bytes() const { return scratch_bytes_; }
  // The bytes of the state that stays, and of the part of it that is moved to its place after each run.
  [[nodiscard]] size_t state_bytes() const { return state_bytes_; }
  [[nodiscard]] size_t moved_bytes() const { return moved_bytes_; }
  // Whether a value of the method is such a state; `offset` is its place in the scratch memory.
  [[nodiscard]] bool find(size_t value, size_t& offset) const;
  // What the other tensors need of a planned buffer.
  [[nodiscard]] size_t planned_bytes(size_t buffer) const;

 private:
  struct Ends;  // the places of a state before and after a run
  void find_all(PlaceOf place_of);
  [[nodiscard]] bool is_own(size_t value) const;
  [[nodiscard]] bool ends_of(size_t value, Ends& ends) const;
  [[nodiscard]] bool collides(size_t value, const Ends& ends) const;

  const Program* program_ = nullptr;
  size_t method_ = 0;
  const pte::schema::DelegateCall* call_ = nullptr;
  std::span<const std::byte> blob_;
  PlaceOf place_of_ = nullptr;
  size_t scratch_bytes_ = 0;
  size_t state_bytes_ = 0;
  size_t moved_bytes_ = 0;
};

}  // namespace carina::runtime
