// Makes PyTorch's profiler, and every tool that reads its traces, count a wait as time of the DataLoader.
#pragma once

#include <ATen/record_function.h>

namespace penstock::torch {

/// The name that torch/utils/data/dataloader.py gives its waits. Tools look for its beginning and its end.
inline constexpr const char* kProfilerMark = "enumerate(DataLoader)#PenstockLoader.__next__";

/// Opens a range with that name in the profiler, in user scope, for its lifetime. Costs almost nothing while no
/// profiler runs.
class ProfilerMark {
 public:
  ProfilerMark() {
    if (range_.isActive()) range_.before(kProfilerMark);
  }

 private:
  at::RecordFunction range_{at::RecordScope::USER_SCOPE};
};

}  // namespace penstock::torch
