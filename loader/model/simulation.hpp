// Replays what samples ask through a model of the pipeline: which rate, and what binds.
#pragma once

#include <loader/model/demands.hpp>
#include <penstock/options.hpp>

namespace penstock {

/// What a simulated loader did once its queues had filled.
struct Simulated {
  double samples_per_s = 0;
  double waited = 0;       ///< share of the consumer's time, 0 to 1
  double cores = 0;        ///< share of the machine's cores that computed
  double workers = 0;      ///< share of the workers' time that they had a task
  double bytes_per_s = 0;  ///< that storage gave
};

/// A discrete-event simulation: the scheduler's thread takes slabs and hands out tasks of rows, storage serves reads
/// one after the other behind their latency, workers share cores (as equally as the system's scheduler does), batches
/// leave in order through the stages behind, and the consumer takes them. Of `options` it uses workers, prefetch,
/// batch_size, read_options, memory_options, batch_transform and device_options. A few milliseconds of work. All zero
/// where there are no demands. Source of the technique: processor sharing by virtual time, Parekh and Gallager,
/// IEEE/ACM ToN 1(3), 1993.
Simulated simulated(const Demands& demands, const MachineModel& machine, const LoaderOptions& options);

}  // namespace penstock
