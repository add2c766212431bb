#pragma once

namespace carina {

// Returns whether the development checks run: the graph is verified after each pass, the schedule after each
// transformation. Every build contains them. The environment variable CARINA_DEV_CHECKS=1, which is read once, turns
// them on; the tests set it.
bool dev_checks_enabled();

}  // namespace carina
