// Holds what the scheduler and all workers of a loader share.
#pragma once

#include <atomic>

#include <loader/batch/reorder_buffer.hpp>
#include <loader/batch/slab.hpp>
#include <loader/fetch/block_cache.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/fetch/row_task.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <loader/fetch/task_queue.hpp>
#include <order/selection.hpp>
#include <penstock/dataset.hpp>
#include <penstock/options.hpp>
#include <record/time/read_record.hpp>
#include <record/time/stage_clock.hpp>
#include <record/time/trace_log.hpp>
#include <record/time/work_log.hpp>
#include <record/time/worker_record.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/window.hpp>
#include <transforms/program/program.hpp>

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
