#pragma once

namespace carina::cli {

// The standard streams that are closed are opened, so that no output file is taken for one: reading or writing them is an
// error as before, but for messages, which nobody hears.
void open_closed_streams();

// What ends the program from outside leaves nothing behind: SIGINT, SIGTERM and SIGHUP remove files that are being
// written, then end it as they would have. A mapped input that becomes shorter is an error with its name (SIGBUS). An
// output that nobody reads any more (SIGPIPE) or that may not grow (SIGXFSZ) is an error where it is written.
void install_signal_handlers();

}  // namespace carina::cli
