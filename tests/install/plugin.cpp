// A user's shared library. It exports its own function, and no symbol of Carina.
#include <carina/version.h>

extern "C" int plugin_version() {
  return static_cast<int>(carina::version().size());
}
