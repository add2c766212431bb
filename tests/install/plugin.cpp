// A shared library of a user's: it exports its own function and nothing of Carina.
#include <carina/version.h>

extern "C" int plugin_version() {
  return static_cast<int>(carina::version().size());
}
