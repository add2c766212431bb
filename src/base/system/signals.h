#pragma once

namespace carina {

// Opens standard streams that are closed, so that no output file gets their descriptors. Reading or writing them is
// still an error; messages to them are lost.
void open_closed_streams();

// What ends the program from outside leaves nothing behind: SIGINT, SIGTERM and SIGHUP remove files that are being
// written, then end it as they would have. A mapped input that becomes shorter is an error with its name (SIGBUS). An
// output that nobody reads any more (SIGPIPE) or that may not grow (SIGXFSZ) is an error where it is written.
void install_signal_handlers();

}  // namespace carina
