// The objects that the scheduler and all workers of a loader share.
#pragma once

#include <loader/batch/reorder_buffer.hpp>
#include <loader/batch/slab.hpp>
#include <loader/fetch/block_cache.hpp>
#include <loader/fetch/fetch.hpp>
#include <loader/fetch/row_task.hpp>
#include <loader/fetch/sample_cache.hpp>
#include <loader/fetch/task_queue.hpp>
#include <order/selection.hpp>
#include <penstock/options.hpp>
#include <record/time/recorder.hpp>
#include <storage/read/read_engine.hpp>
#include <storage/read/window.hpp>

namespace penstock {

class BatchMixer;

/// The loader owns it. It outlives the scheduler and the workers.
struct WorkerContext {
  const LoaderOptions& options;
  const Selection& selection;
  const FetchFrom& from;  ///< with the dataset and the program of the workers
  ReadEngine& direct;
  BlockCache& blocks;
  SampleCache& cache;
  const BatchMixer& mixer;
  ReadWindow& window;
  RowTaskPool& row_tasks;
  TaskQueue& tasks;
  ReorderBuffer& reorder;
  SlabPool& slabs;
  Recorder& recorder;
};

}  // namespace penstock
