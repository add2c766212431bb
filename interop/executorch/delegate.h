#pragma once

#include <stdbool.h>
#include <stddef.h>

// What a program that runs Ethos-U or VGF delegates in the official ExecuTorch runtime may ask of the simulator, or the
// interpreter, behind them. Loading the library registers the delegates "EthosUBackend" and "VgfBackend"; these
// functions are for their reports. Safe to call from
// any thread.

#ifdef __cplusplus
extern "C" {
#endif

// Whether runs of delegates that are loaded from now on are timed (estimates, docs/cycle-model.md): true at first.
void carina_executorch_set_timed(bool timed);

// How many delegate calls there were since the start or the last clear. The oldest of more than 1,000 are dropped.
size_t carina_executorch_report_count(void);
// One call's report, as `carina run --json` has it under "npu": text of *size bytes with a 0 behind, valid until the
// same thread asks again. NULL: no such report.
const char* carina_executorch_report(size_t call, size_t* size);
void carina_executorch_clear_reports(void);

// Why the last delegate failed to load or to run, as text; "" when none did. Valid until the same thread asks again.
const char* carina_executorch_last_error(void);

#ifdef __cplusplus
}
#endif
