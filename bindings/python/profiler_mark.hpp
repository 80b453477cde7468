// Makes PyTorch's profiler, and all tools that read its traces, count a wait as DataLoader time.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::python {

/// A torch.profiler.record_function during its lifetime, named like the waits of torch's own loader. Does nothing if
/// the program has not imported torch.
class ProfilerMark {
 public:
  ProfilerMark();
  ~ProfilerMark();
  ProfilerMark(ProfilerMark&&) = delete;

 private:
  nanobind::object mark_;
};

}  // namespace penstock::python
