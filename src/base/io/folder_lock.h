// Declares a lock by which processes take turns at changing the files of a folder.
#pragma once

#include <string>

#include "base/io/descriptor.h"

namespace carina {

// Waits until no other process holds the lock of the folder, and holds it until the result is destroyed. The lock ends
// with the process. On Windows, and on file systems without locks, it does not wait.
Descriptor lock_folder(const std::string& folder);

}  // namespace carina
