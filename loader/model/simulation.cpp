#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <queue>
#include <utility>
#include <vector>

#include <loader/batch/slab_count.hpp>
#include <loader/model/simulation.hpp>

namespace penstock {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr double kHair = 1e-9;                      // of a row: tolerance for rounding errors of sums
constexpr std::size_t kRows = 4000, kBatches = 48;  // minimum numbers to measure
constexpr std::uint32_t kScheduler = 0, kConsumer = 1, kFirstTask = 2;

/// Jobs that share a resource equally. The speed of each depends on their number.
///
/// Source: Parekh and Gallager, IEEE/ACM ToN 1(3), 1993. `done_` is the virtual time: the work that each present job
/// has received since the start. A job ends when `done_` reaches the value at its arrival plus its demand. That value
/// never changes, so a priority queue suffices although the speeds change with every arrival.
class Shared {
 public:
  using Speed = std::function<double(std::size_t)>;  ///< speed of each job, given their number

  explicit Shared(Speed speed) : speed_(std::move(speed)) {}

  void add(double now, double demand, std::uint32_t job) {
    advance(now);
    jobs_.emplace(done_ + demand, job);
  }
  double next_end() const {
    return jobs_.empty() ? kNever : at_ + std::max(0.0, jobs_.top().first - done_) / speed_(jobs_.size());
  }
  std::uint32_t take(double now) {
    advance(now);
    const std::uint32_t job = jobs_.top().second;
    jobs_.pop();
    return job;
  }
  double used(double now) {  ///< total work done until now
    advance(now);
    return used_;
  }

 private:
  using Job = std::pair<double, std::uint32_t>;  // value of `done_` at its end, and the job

  void advance(double now) {
    const double each = jobs_.empty() ? 0 : (now - at_) * speed_(jobs_.size());
    done_ += each;
    used_ += each * static_cast<double>(jobs_.size());
    at_ = now;
  }

  const Speed speed_;
  std::priority_queue<Job, std::vector<Job>, std::greater<>> jobs_;
  double at_ = 0, done_ = 0, used_ = 0;  // done_: work received by a job that exists since the start
};

struct Task {
  std::size_t batch = 0, rows = 0, read_rows = 0;  // read_rows: rows for which something is read
  RowDemand sum;
  std::size_t reads_left = 0;  // reads ahead that have not ended
  double taken = 0;            // when a worker took it
};

/// One read, for some rows.
struct Request {
  std::vector<std::uint32_t> tasks = {};  // tasks that wait for it
  double bytes = 0;
};

class Simulation {
 public:
  Simulation(const Demands& demands, const MachineModel& machine, const LoaderOptions& options)
      : demands_(demands),
        machine_(machine),
        options_(options),
        rows_(shuffled(demands.rows)),
        rows_of_batch_(static_cast<std::size_t>(std::max(1.0, std::round(options.batch_size * demands.fullness)))),
        free_slabs_(slabs_ahead(demands, options)),
        idle_workers_(options.workers),
        free_reads_(reads_at_once(demands, options)),
        free_at_(demands.line.size(), 0.0),
        cores_([&](std::size_t jobs) { return machine_.speed(static_cast<double>(jobs)); }) {}

  Simulated run() {
    // Measures only after all slabs have circulated, because the queues are empty at the start.
    const std::size_t warm = free_slabs_ + 2;
    const std::size_t batches =
        warm + std::max(kBatches, (kRows + options_.batch_size - 1) / std::size_t{options_.batch_size});
    schedule();
    double begin = 0, waited = 0, computed = 0, worked = 0, read = 0;
    while (taken_ < batches) {
      if (!step()) return {};
      if (begin == 0 && taken_ >= warm)
        begin = now_, waited = waited_, computed = cores_.used(now_), worked = worked_, read = read_;
    }
    const double wall = now_ - begin;
    if (wall <= 0) return {};
    return {.samples_per_s = static_cast<double>((batches - warm) * rows_of_batch_) / wall,
            .waited = (waited_ - waited) / wall,
            .cores = (cores_.used(now_) - computed) / (wall * machine_.cores * machine_.speed(1)),
            .workers = (worked_ - worked) / (wall * options_.workers),
            .bytes_per_s = (read_ - read) / wall};
  }

 private:
  static constexpr std::size_t kPreadThreads = 16;
  static constexpr double kTaskBytes = 128 << 10;  // same value as in scheduler.cpp
  enum class Event : std::uint8_t { answered, read, waited, stage, consumed };
  struct Timed {
    double at;
    std::uint64_t order;  // events at the same time happen in the order of planning
    Event event;
    std::uint32_t number;
    bool operator>(const Timed& other) const { return std::pair(at, order) > std::pair(other.at, other.order); }
  };

  // Maximum number of reads in flight.
  static std::size_t reads_at_once(const Demands& demands, const LoaderOptions& options) {
    if (demands.from_store)
      return demands.storage.at_once > 0 ? static_cast<std::size_t>(std::max(1.0, std::round(demands.storage.at_once)))
                                         : std::numeric_limits<std::size_t>::max();
    if (options.read_options.engine != EngineKind::pread) return options.read_options.depth;
    return options.read_options.threads > 0 ? options.read_options.threads : kPreadThreads;
  }

  // With a fixed seed, so that the same recording always gives the same prediction.
  static std::vector<RowDemand> shuffled(std::vector<RowDemand> rows) {
    std::uint64_t state = 0x9e3779b97f4a7c15;
    for (std::size_t i = rows.size(); i > 1; --i) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      std::swap(rows[i - 1], rows[(state >> 33) % i]);
    }
    return rows;
  }
  // Without the slabs that are reserved for the consumer.
  static std::size_t slabs_ahead(const Demands& demands, const LoaderOptions& options) {
    const unsigned slabs = slab_count(options, static_cast<std::uint64_t>(demands.row_bytes),
                                      demands.from_store    ? ReadsAhead::of_store
                                      : demands.reads_ahead ? ReadsAhead::of_disk
                                                            : ReadsAhead::none);
    return slabs - (options.device_options.opened != nullptr ? 0 : options.memory_options.reserved_batches);
  }
  void at(double time, Event event, std::uint32_t number) { timed_.push({time, order_++, event, number}); }

  // Processes the next event. Returns false if there is none.
  bool step() {
    const double timed = timed_.empty() ? kNever : timed_.top().at;
    const double computed = cores_.next_end();
    const double next = std::min(timed, computed);
    if (next == kNever) return false;
    now_ = std::max(now_, next);
    if (next == timed) {
      const Timed event = timed_.top();
      timed_.pop();
      happen(event);
    } else {
      computed_job(cores_.take(now_));
    }
    return true;
  }

  void happen(const Timed& event) {
    switch (event.event) {
      case Event::answered: {
        if (demands_.storage.bytes_per_s <= 0) return read_done(event.number);
        storage_free_ = std::max(storage_free_, now_) + requests_[event.number].bytes / demands_.storage.bytes_per_s;
        return at(storage_free_, Event::read, event.number);
      }
      case Event::read:
        return read_done(event.number);
      case Event::waited:
        return cores_.add(now_, tasks_[event.number].sum.computes, event.number + kFirstTask);
      case Event::stage:
        ready_.push_back(event.number);
        return consume();
      case Event::consumed:
        return consumed();
    }
  }

  // ---- The scheduler ---------------------------------------------------------------------------------------------

  void schedule() {
    if (scheduling_) return;
    if (rows_left_ == 0) {
      if (free_slabs_ == 0) return;
      --free_slabs_;
      rows_left_ = rows_of_batch_;
      batch_ = batches_.size();
      batches_.push_back({});
    }
    scheduling_ = true;
    const std::uint32_t number = new_task();
    planned_ = number;
    cores_.add(now_, demands_.plan * static_cast<double>(tasks_[number].rows), kScheduler);
  }

  std::uint32_t new_task() {
    std::uint32_t number = static_cast<std::uint32_t>(tasks_.size());
    if (free_tasks_.empty()) {
      tasks_.emplace_back();
    } else {
      number = free_tasks_.back();
      free_tasks_.pop_back();
    }
    Task& task = tasks_[number];
    task = {};
    task.batch = batch_;
    const std::size_t share = std::max<std::size_t>(1, options_.batch_size / (std::size_t{4} * options_.workers));
    double bytes = 0;
    while (rows_left_ > 0 && task.rows < share && bytes < kTaskBytes) {
      const RowDemand& row = rows_[next_row_++ % rows_.size()];
      bytes += std::min(row.bytes, kTaskBytes);
      task.sum.reads += row.reads, task.sum.waits += row.waits, task.sum.computes += row.computes;
      task.sum.bytes += row.bytes;
      if (row.bytes > 0) ++task.read_rows;
      ++task.rows;
      --rows_left_;
    }
    ++batches_[batch_].tasks;
    return number;
  }

  void planned() {
    Task& task = tasks_[planned_];
    if (demands_.reads_ahead && task.read_rows > 0) {
      no_room_ =
          in_window_ > 0 && in_window_ + task.sum.bytes > static_cast<double>(options_.read_options.read_ahead_bytes);
      if (no_room_) return close();
      in_window_ += task.sum.bytes;
      for (std::size_t i = 0; i < task.read_rows; ++i)
        want(planned_, task.sum.bytes / static_cast<double>(task.read_rows));
    } else {
      waiting_.push_back(planned_);
      give();
    }
    scheduling_ = false;
    if (rows_left_ == 0) batches_[batch_].whole = true;
    if (rows_left_ == 0) close();
    schedule();
  }

  // ---- Reads -----------------------------------------------------------------------------------------------------

  // Adds a row of the task to the open request, or begins a new request if the open one is full.
  void want(std::uint32_t task, double bytes) {
    if (open_.tasks.empty() || open_.tasks.back() != task) {
      open_.tasks.push_back(task);
      ++tasks_[task].reads_left;
    }
    open_.bytes += bytes;
    ++open_rows_;
    if (open_rows_ + kHair < demands_.storage.rows) return;
    open_rows_ -= demands_.storage.rows;
    send();
  }
  // Sends the open request, because rows planned later are not merged with earlier ones.
  void close() {
    open_rows_ = 0;
    if (!open_.tasks.empty()) send();
  }
  void send() {
    wanted_.push_back(std::exchange(open_, {}));
    ask();
  }
  // Starts waiting reads up to the engine's limit.
  void ask() {
    while (free_reads_ > 0 && !wanted_.empty()) {
      begin_read(std::move(wanted_.front()), 1);
      wanted_.pop_front();
      --free_reads_;
    }
  }
  void begin_read(Request request, std::size_t one_after_the_other) {
    std::uint32_t number = static_cast<std::uint32_t>(requests_.size());
    if (free_numbers_.empty()) {
      requests_.push_back(std::move(request));
    } else {
      number = free_numbers_.back();
      free_numbers_.pop_back();
      requests_[number] = std::move(request);
    }
    at(now_ + demands_.storage.latency * static_cast<double>(one_after_the_other), Event::answered, number);
  }
  void read_done(std::uint32_t number) {
    const Request request = std::move(requests_[number]);
    read_ += request.bytes;
    free_numbers_.push_back(number);
    if (!demands_.reads_ahead) return wait_in(request.tasks.front());
    ++free_reads_;
    for (const std::uint32_t task : request.tasks)
      if (--tasks_[task].reads_left == 0) waiting_.push_back(task);
    give();
    ask();
  }

  // ---- The workers -----------------------------------------------------------------------------------------------

  void give() {
    while (idle_workers_ > 0 && !waiting_.empty()) {
      const std::uint32_t task = waiting_.front();
      waiting_.pop_front();
      --idle_workers_;
      tasks_[task].taken = now_;
      const Task& given = tasks_[task];
      if (demands_.reads_ahead || given.sum.reads <= 0) {
        wait_in(task);
      } else if (demands_.storage.bytes_per_s > 0) {
        begin_read({.tasks = {task}, .bytes = given.sum.bytes}, given.read_rows);
      } else {
        read_ += given.sum.bytes;
        at(now_ + given.sum.reads + given.sum.waits, Event::waited, task);
      }
    }
  }
  void wait_in(std::uint32_t task) {
    if (tasks_[task].sum.waits > 0) return at(now_ + tasks_[task].sum.waits, Event::waited, task);
    cores_.add(now_, tasks_[task].sum.computes, task + kFirstTask);
  }
  void computed_job(std::uint32_t job) {
    if (job == kScheduler) return planned();
    if (job == kConsumer) return consumed();
    const std::uint32_t number = job - kFirstTask;
    const Task task = tasks_[number];
    free_tasks_.push_back(number);
    worked_ += now_ - task.taken;
    ++idle_workers_;
    if (demands_.reads_ahead) {
      in_window_ -= task.sum.bytes;
      if (no_room_) planned();
    }
    BatchState& batch = batches_[task.batch];
    ++batch.done;
    deliver();
    give();
  }

  // ---- Batches, in order -----------------------------------------------------------------------------------------

  void deliver() {
    while (delivered_ < batches_.size() && batches_[delivered_].whole &&
           batches_[delivered_].done == batches_[delivered_].tasks) {
      double time = now_;
      for (std::size_t i = 0; i < free_at_.size(); ++i)
        time = free_at_[i] = std::max(free_at_[i], time) + demands_.line[i];
      at(time, Event::stage, static_cast<std::uint32_t>(delivered_));
      ++delivered_;
    }
  }

  void consume() {
    if (consuming_ || ready_.empty()) return;
    ready_.pop_front();
    consuming_ = true;
    waited_ += now_ - asked_;
    ++free_slabs_;
    schedule();
    if (demands_.step_computes) return cores_.add(now_, demands_.step, kConsumer);
    at(now_ + demands_.step, Event::consumed, 0);
  }
  void consumed() {
    consuming_ = false;
    ++taken_;
    asked_ = now_;
    consume();
  }

  struct BatchState {
    std::size_t tasks = 0, done = 0;
    bool whole = false;  // all its tasks have been issued
  };

  const Demands& demands_;
  const MachineModel& machine_;
  const LoaderOptions& options_;
  const std::vector<RowDemand> rows_;
  const std::size_t rows_of_batch_;
  std::size_t next_row_ = 0, rows_left_ = 0, batch_ = 0;
  std::size_t free_slabs_, idle_workers_, free_reads_;
  std::vector<double> free_at_;  // by later stage: when it is free
  Shared cores_;
  double storage_free_ = 0;  // when it has served all requests so far
  std::priority_queue<Timed, std::vector<Timed>, std::greater<>> timed_;
  std::uint64_t order_ = 0;
  double now_ = 0, waited_ = 0, asked_ = 0, worked_ = 0, read_ = 0, in_window_ = 0;
  bool scheduling_ = false, consuming_ = false;
  bool no_room_ = false;  // the read window has no room for the planned task
  std::uint32_t planned_ = 0;
  std::vector<Task> tasks_;
  std::vector<std::uint32_t> free_tasks_, free_numbers_;
  Request open_;          // the request that rows still join
  double open_rows_ = 0;  // its rows, and the fraction of a row by which the previous request was too large
  std::vector<Request> requests_;
  std::deque<Request> wanted_;
  std::deque<std::uint32_t> waiting_, ready_;
  std::vector<BatchState> batches_;
  std::size_t delivered_ = 0, taken_ = 0;
};

}  // namespace

Simulated simulated(const Demands& demands, const MachineModel& machine, const LoaderOptions& options) {
  if (demands.rows.empty()) return {};
  return Simulation(demands, machine, options).run();
}

}  // namespace penstock
