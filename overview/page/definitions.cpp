#include <array>
#include <cstddef>

#include <overview/page/definitions.hpp>
#include <overview/page/html.hpp>

namespace penstock::overview::page {
namespace {

struct Definition {
  std::string_view quantity, text, source;
};

constexpr std::array<Definition, 17> kDefinitions{{
    {"Step",
     "A step begins when its ProfilerStep begins on the host, but not before the device work of the step before ends. "
     "The step ends when both its ProfilerStep and the device work that it launched have ended. Steps at the end of "
     "the trace are left out if the trace lacks their device work. A trace without ProfilerStep is one step, from the "
     "begin of the first operator to the end of the last one.",
     "torch-tb-profiler 0.4.3, event_parser.py"},
    {"Categories of a step",
     "Each moment counts for one category. If several cover it, it counts for the first of them, in the order of the "
     "table. The times of the categories sum to the length of the step.",
     "torch-tb-profiler 0.4.3, event_parser.py and overall_parser.py"},
    {"Mean and standard deviation",
     "Both are over the steps of the trace. The standard deviation divides by the number of steps minus one.", ""},
    {"Busy",
     "The share of the time in which at least one kernel runs on the device. The time is from the begin of the first "
     "step to the end of the last one.",
     "torch-tb-profiler 0.4.3, gpu_metrics_parser.py"},
    {"Estimated SM efficiency",
     "The mean over this time of min(1, blocks per SM), summed over the kernels that run at once. This is the share of "
     "the multiprocessors that have at least one block, if blocks are spread evenly.",
     "torch-tb-profiler 0.4.3, gpu_metrics_parser.py"},
    {"Estimated occupancy", "The mean of the kernels\u2019 estimated occupancy, weighted by their duration.",
     "torch-tb-profiler 0.4.3, gpu_metrics_parser.py"},
    {"Tensor cores",
     "The share of the kernels\u2019 time in kernels whose names show that they use tensor cores. The names are those "
     "of NVIDIA\u2019s libraries, so other devices have no value.",
     "torch-tb-profiler 0.4.3, tensor_core.py and tensor_cores_parser.py, with the list of PyProf (NVIDIA)"},
    {"Idle time of a stream",
     "The gaps between the events of a stream. A gap is Host if the later event was launched after the earlier one had "
     "ended. Otherwise it is Kernel if it is shorter than 30 us, and Other if it is longer. The device work of the "
     "last step is left out, because a trace often ends before it does.",
     "HTA 0.5, breakdown_analysis.py and trace.py; its documentation says 30 ns, its code uses 30 us"},
    {"Idle time in DataLoader", "The part of Host in which a thread waits in __next__() of a DataLoader.", "penstock"},
    {"Queue",
     "The number of launched events that have not begun. The mean and the maximum are over all launches and all begins "
     "of events.",
     "HTA 0.5, trace_counters.py"},
    {"Exposed copies and communication",
     "The time of a step that counts for Memcpy or Communication, because nothing earlier in the order of the table "
     "runs. The full time is the time in which at least one copy or collective runs.",
     "the categories above"},
    {"Calls of .item() and the like",
     "Calls of aten::_local_scalar_dense that call the runtime of a device. In each, the host waits until the device "
     "has finished.",
     "penstock"},
    {"Self time of an operator",
     "On the host: its time without the operators and the functions of the device\u2019s runtime that it calls. On the "
     "device: the kernels, copies and fills that the operator itself launched. Operators of a thread nest by their "
     "times.",
     "torch-tb-profiler 0.4.3, op_tree.py and op_agg.py"},
    {"Memory",
     "The largest amounts in the trace. On the host, the profiler records no totals, so the peak is that of the sum of "
     "all allocations and releases since the trace began.",
     "the memory events of the profiler"},
    {"Slowest rank",
     "The rank with the longest step, without the time of the category Communication: the other ranks wait for it in "
     "their collectives.",
     "penstock"},
    {"Noise of the steps",
     "Two standard errors of the difference between the mean steps of two runs. A larger change is clear.", "penstock"},
    {"[predicted]", "An estimate from this trace, with its range. penstock has not measured this time.", "penstock"},
}};

}  // namespace

std::string_view meaning(Category category) {
  constexpr std::array<std::string_view, kCategories> kMeanings{
      "A kernel runs, except kernels of collectives.",
      "A copy from, to or between devices runs.",
      "A device fills memory.",
      "A collective of NCCL, RCCL or Gloo runs, on the device or on the host.",
      "A thread calls the runtime or driver of a device.",
      "A thread waits in __next__() of a DataLoader.",
      "An operator runs on the host.",
      "No other category applies: other code runs, or the process waits."};
  return kMeanings[static_cast<std::size_t>(category)];
}

bool is_of_device(Category category) {
  return category == Category::kernel || category == Category::memcpy || category == Category::memset ||
         category == Category::runtime;
}

std::string definitions() {
  std::string entries;
  for (const Definition& definition : kDefinitions) {
    entries += "<dt>" + escaped(definition.quantity) + "</dt><dd>" + escaped(definition.text);
    if (!definition.source.empty()) entries += " <i>Source: " + escaped(definition.source) + ".</i>";
    entries += "</dd>\n";
  }
  return "<section id=\"definitions\"><details><summary>Definitions</summary><dl>\n" + entries +
         "</dl></details></section>\n";
}

}  // namespace penstock::overview::page
