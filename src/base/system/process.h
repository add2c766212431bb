// What a program knows of its own process, and how it becomes another program.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace carina {

// The file of the running program, or an empty path if the system does not tell.
std::filesystem::path own_program();

// Sets an environment variable of this process and of its children.
void set_environment(const std::string& name, const std::string& value);

// Replaces the program of this process by another one, which is searched in PATH. Returns only if that fails: the
// system's error.
int replace_process(std::vector<std::string> command);

// The CPU time that the process has taken, in all threads.
double cpu_seconds();

// The peak of the memory in use since forget_peak_memory(), or since the start where the system cannot forget it.
int64_t peak_memory_bytes();
void forget_peak_memory();

// Has malloc() keep freed blocks for later ones, as a program that takes megabytes for one layer after the other needs,
// and hold them in large pages where the system has these. Call it first.
void keep_freed_memory();

}  // namespace carina
