// Holds what the scheduler and all workers of a loader share.
#pragma once

#include <atomic>

#include <penstock/formats/dataset.hpp>
#include <penstock/loader/batch/reorder_buffer.hpp>
#include <penstock/loader/batch/slab.hpp>
#include <penstock/loader/fetch/block_cache.hpp>
#include <penstock/loader/fetch/fetch.hpp>
#include <penstock/loader/fetch/row_task.hpp>
#include <penstock/loader/fetch/sample_cache.hpp>
#include <penstock/loader/fetch/task_queue.hpp>
#include <penstock/loader/options.hpp>
#include <penstock/loader/plan/selection.hpp>
#include <penstock/loader/read/read_engine.hpp>
#include <penstock/loader/read/window.hpp>
#include <penstock/loader/time/read_record.hpp>
#include <penstock/loader/time/stage_clock.hpp>
#include <penstock/loader/time/trace_log.hpp>
#include <penstock/loader/time/work_log.hpp>
#include <penstock/loader/time/worker_record.hpp>
#include <penstock/transforms/program/program.hpp>

namespace penstock {

class BatchMixer;

/// Owned by the loader; outlives them.
struct WorkerContext {
  const Dataset& dataset;
  const Program& program;
  const LoaderOptions& options;
  const Selection& selection;
  const FetchFrom& from;
  ReadEngine& direct;
  BlockCache& blocks;
  SampleCache& cache;
  const BatchMixer& mixer;
  ReadWindow& window;
  RowTaskPool& row_tasks;
  TaskQueue& tasks;
  ReorderBuffer& reorder;
  SlabPool& slabs;
  StageClocks& clocks;
  WorkLog& scheduler_log;
  const WorkLogs& worker_logs;
  const WorkerRecords& worker_records;
  ReadRecord& reads;
  TraceLog& trace;
  std::atomic<unsigned>& workers_observed;
};

}  // namespace penstock
