#pragma once

#include <string>

namespace carina {

// Loads a shared library for the rest of the process. Returns null if there is none of this name.
void* open_library(const std::string& name);

// The address of a function of a loaded library, or null.
void* function_of(void* library, const char* name);

}  // namespace carina
