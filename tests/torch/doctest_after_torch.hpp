// doctest in a file that includes torch: both have macros named CHECK. Include this after every header of torch.
#pragma once

#undef CHECK
#undef CHECK_EQ
#undef CHECK_GE
#undef CHECK_GT
#undef CHECK_LE
#undef CHECK_LT
#undef CHECK_NE

#include <doctest/doctest.h>
