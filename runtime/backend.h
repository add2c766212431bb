#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "runtime/arena.h"
#include "runtime/error.h"
#include "runtime/evalue.h"
#include "runtime/kernel.h"

// The interface of a delegate's backend.
namespace carina::runtime {

struct CompileSpec {
  std::string_view key;
  std::span<const std::byte> value;
};

// Where a delegate has an argument in its scratch memory.
struct ArgumentPlace {
  size_t offset = 0;
  size_t bytes = 0;
  size_t scratch_bytes = 0;  // of the whole scratch memory
  bool is_output = false;
};
// Finds the place of an argument in a delegate's blob. Returns false if there is no such argument.
using PlaceOf = bool (*)(std::span<const std::byte> blob, size_t argument, ArgumentPlace& place);

// Runs the subgraphs of one backend. One object serves all delegates of all methods.
class Backend {
 public:
  [[nodiscard]] virtual std::string_view id() const = 0;  // "EthosUBackend"
  // Returns whether it runs delegates with this id: its own id, or its id in older files.
  [[nodiscard]] virtual bool serves(std::string_view delegate_id) const { return delegate_id == id(); }
  // Prepares a delegate from its blob, which stays in place. Memory that the delegate needs until the method ends comes
  // from `arena`. *handle is passed to execute().
  virtual Error init(std::span<const std::byte> blob, std::span<const CompileSpec> specs, Arena& arena,
                     void** handle) = 0;
  // How its delegates place their arguments: always at the start of what they allocate from scratch, and a state whose
  // data are at its place already is not copied. nullptr: they have no such places.
  [[nodiscard]] virtual PlaceOf place_of() const { return nullptr; }
  // Runs the delegate. `arguments`: the inputs, then the outputs. Allocations from `scratch` end when the call returns.
  virtual Error execute(void* handle, Arguments arguments, Arena& scratch) = 0;

 protected:
  ~Backend() = default;
};

}  // namespace carina::runtime
