// Runs the recorded demands through a model of the pipeline to predict the rate and the bottleneck.
#pragma once

#include <loader/model/demands.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// Results of a simulated loader after its queues have filled.
struct Simulated {
  double samples_per_s = 0;
  double waited = 0;       ///< share of the consumer's time, 0 to 1
  double cores = 0;        ///< share of the machine's cores that were busy
  double workers = 0;      ///< share of the workers' time with a task
  double bytes_per_s = 0;  ///< read from storage
};

/// A discrete-event simulation of the pipeline. The scheduler's thread takes slabs and issues tasks of rows. After a
/// latency, storage serves reads one after the other. Workers share cores equally, as with the system's scheduler.
/// Batches pass the later stages in order, and the consumer takes them.
/// Uses these members of `options`: workers, prefetch, batch_size, read_options, memory_options, batch_transform and
/// device_options. Takes a few milliseconds. All results are zero without demands. Source of the technique: processor
/// sharing by virtual time, Parekh and Gallager, IEEE/ACM ToN 1(3), 1993.
Simulated simulated(const Demands& demands, const MachineModel& machine, const LoaderOptions& options);

}  // namespace penstock
