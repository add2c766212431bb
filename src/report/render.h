#pragma once

// Includes to_text() and to_json() of every result, for templates over all of them.
#include "report/accuracy_report.h"
#include "report/board_report.h"
#include "report/compare_report.h"
#include "report/compile_report.h"
#include "report/failure_report.h"
#include "report/firmware_report.h"
#include "report/layer_accuracy_report.h"
#include "report/listing.h"
#include "report/operator_list.h"
#include "report/profile_report.h"
#include "report/run_report.h"
#include "report/sweep_report.h"
#include "report/target_list.h"
#include "report/tosa_report.h"
#include "report/verify_report.h"
#include "report/vulkan_report.h"
