// The same with CLI11, for the files of tools/carina, whose options take its templates.
#pragma once

#include "precompiled_std.h"

#include <CLI/CLI.hpp>
