#pragma once

namespace carina {

// Whether the checks of development run: the graph is verified after each pass, the schedule after each transformation. They are in
// every build; the environment variable CARINA_DEV_CHECKS=1 turns them on, as the tests do. Read once.
bool dev_checks_enabled();

}  // namespace carina
