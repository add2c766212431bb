// The same with GoogleTest, for the unit tests.
#pragma once

#include "precompiled_std.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
