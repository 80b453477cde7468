// Tables of operators and kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <overview/trace/trace.hpp>

namespace penstock::overview {

/// All calls of the operators with one name. Times are nanoseconds, summed over the whole trace.
struct OperatorTimes {
  std::string name;
  std::size_t calls = 0;
  double host = 0;         ///< from begin to end
  double host_self = 0;    ///< without the operators and the functions of the device's runtime that it calls
  double device_self = 0;  ///< kernels, copies and fills that the operator itself launched
};

/// All runs of the kernels with one name.
struct KernelTimes {
  std::string name;
  std::size_t calls = 0;
  double time = 0;  ///< nanoseconds
  bool tensor_cores = false;
};

/// In falling order of host_self plus device_self. Operators of a thread nest by their times; the device work of an
/// operator is that of the calls inside it. If the trace lacks the call, the external id of the work decides.
/// Source: torch-tb-profiler 0.4.3 (op_tree.py, op_agg.py).
std::vector<OperatorTimes> times_of_operators(const Trace& trace);
std::vector<KernelTimes> times_of_kernels(const Trace& trace);  ///< in falling order of time

}  // namespace penstock::overview
