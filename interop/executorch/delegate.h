#pragma once

#include <stdbool.h>
#include <stddef.h>

// Reports of Ethos-U and VGF delegates that run in the official ExecuTorch runtime. Loading the library registers the
// delegates "EthosUBackend" (the simulator) and "VgfBackend" (the interpreter). The functions may be called from any
// thread.

#ifdef __cplusplus
extern "C" {
#endif

// Sets whether delegates that are loaded from now on estimate cycles (docs/cycle-model.md). Default: true.
void carina_executorch_set_timed(bool timed);

// Returns the number of delegate calls since the start or the last clear. Only the last 1,000 reports are kept.
size_t carina_executorch_report_count(void);
// Returns the report of one call, as `carina run --json` prints it under "npu": text of *size bytes and a final 0,
// valid until the next call of this function on the same thread. NULL: there is no such report.
const char* carina_executorch_report(size_t call, size_t* size);
void carina_executorch_clear_reports(void);

// Returns why the last delegate failed to load or to run; "" if none has failed. Valid until the next call on the same
// thread.
const char* carina_executorch_last_error(void);

#ifdef __cplusplus
}
#endif
