// The addresses of tensors in the arena of a compiled file.
#pragma once

#include <cstdint>
#include <vector>

namespace carina::litert {

// Bytes [0, bytes) of the arena that a command stream uses for itself at one time.
struct Window {
  int64_t time = 0;
  int64_t bytes = 0;
};

// The stream that runs at `time` has a place for the tensor in its window.
struct Host {
  int64_t time = 0;
  int64_t address = 0;
};

// A tensor that lives from time `first` to time `last`, both included.
struct Item {
  int64_t bytes = 0;
  int64_t first = 0;
  int64_t last = 0;
  std::vector<Host> hosts = {};
};

// Returns an address for each item. An item lies in the place of one of its hosts if that is a multiple of `alignment`
// and nothing else lives there then; otherwise at the lowest multiple of `alignment` where it collides with no window
// and no other item.
//   Example: window {.time = 1, .bytes = 96}; an item of 32 bytes, time 0 to 1, host {1, 64} -> 64; without host -> 96
std::vector<int64_t> place(const std::vector<Item>& items, const std::vector<Window>& windows, int64_t alignment);

}  // namespace carina::litert
