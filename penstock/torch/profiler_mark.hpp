// Makes PyTorch's profiler, and every tool that reads its traces, count a wait as time of the DataLoader.
#pragma once

#include <ATen/record_function.h>

namespace penstock::torch {

/// As torch/utils/data/dataloader.py names its waits; tools look for this beginning and this end.
inline constexpr const char* kProfilerMark = "enumerate(DataLoader)#PenstockLoader.__next__";

/// A range of that name in the profiler, in user scope, for as long as this lives; nearly free while no profiler runs.
class ProfilerMark {
 public:
  ProfilerMark() {
    if (range_.isActive()) range_.before(kProfilerMark);
  }

 private:
  at::RecordFunction range_{at::RecordScope::USER_SCOPE};
};

}  // namespace penstock::torch
