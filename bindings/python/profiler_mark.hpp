// Makes PyTorch's profiler, and every tool that reads its traces, count a wait as time of the DataLoader.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

/// A torch.profiler.record_function of the name that torch gives its own loader's waits, for as long as this lives.
/// Nothing, where the program has not imported torch.
class ProfilerMark {
 public:
  ProfilerMark();
  ~ProfilerMark();
  ProfilerMark(ProfilerMark&&) = delete;

 private:
  nanobind::object mark_;
};

}  // namespace penstock::python
