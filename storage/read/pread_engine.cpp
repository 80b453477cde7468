#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <utility>

#include <base/caught.hpp>
#include <storage/read/pread_engine.hpp>

namespace penstock {
namespace {

constexpr unsigned kThreads = 16;

struct Job {
  MergedRead read{};
  std::vector<ReadRequest> requests;  // sorted, disjoint
  std::size_t answered = 0;           // number of requests answered
};

}  // namespace

struct PreadEngine::State {
  State(std::shared_ptr<EngineCore> answers, const EngineOptions& engine_options, AnswerFilter answer_filter)
      : core(std::move(answers)), options(engine_options), filter(std::move(answer_filter)) {}

  void push(std::span<const ReadRequest> requests);
  std::list<Job> pop(std::stop_token stop);  // one job, or none when stopped
  void recycle(std::list<Job>& job);
  void run(const std::stop_token& stop, std::span<std::byte> bin);
  void serve(Job& job, ReadVector& target, std::span<std::byte> bin, const std::stop_token& stop);

  std::shared_ptr<EngineCore> core;
  const EngineOptions options;
  const AnswerFilter filter;

  std::mutex mutex;  // guards the members below
  std::condition_variable_any changed;
  std::list<Job> jobs;
  std::list<Job> spare;             // served jobs, kept to reuse their memory
  std::vector<ReadRequest> sorted;  // of the submission being queued
  std::vector<MergedRead> reads;
};

// Queues all requests or, if memory runs out, none.
void PreadEngine::State::push(std::span<const ReadRequest> requests) {
  const std::lock_guard lock(mutex);
  sorted.assign(requests.begin(), requests.end());
  coalesce(sorted, options.merge_gap_bytes, options.merge_bytes, reads);
  std::list<Job> made;
  for (const MergedRead& read : reads) {
    if (spare.empty()) {
      made.emplace_back();
    } else {
      made.splice(made.end(), spare, spare.begin());
    }
    Job& job = made.back();
    job.read = read;
    job.answered = 0;
    const auto members = std::span(sorted).subspan(read.first, read.count);
    job.requests.assign(members.begin(), members.end());
  }
  jobs.splice(jobs.end(), made);
  if (reads.size() == 1)
    changed.notify_one();
  else
    changed.notify_all();
}

std::list<Job> PreadEngine::State::pop(std::stop_token stop) {
  std::list<Job> job;
  std::unique_lock lock(mutex);
  if (!changed.wait(lock, stop, [this] { return !jobs.empty(); }) || stop.stop_requested()) return job;
  job.splice(job.end(), jobs, jobs.begin());
  return job;
}

void PreadEngine::State::recycle(std::list<Job>& job) {
  const std::lock_guard lock(mutex);
  spare.splice(spare.begin(), job);
}

void PreadEngine::State::run(const std::stop_token& stop, std::span<std::byte> bin) {
  ReadVector target;
  for (auto job = pop(stop); !job.empty(); job = pop(stop)) {
    Job& own = job.front();
    {
      const BusyTime busy(core->counters);
      if (const auto failure = caught([&] { serve(own, target, bin, stop); }))
        core->fail(std::span(own.requests).subspan(own.answered), failure);
    }
    recycle(job);
  }
}

void PreadEngine::State::serve(Job& job, ReadVector& target, std::span<std::byte> bin, const std::stop_token& stop) {
  const std::shared_ptr<const OpenFile> file = core->open(job.read.file);
  const auto stopping = [&stop] { return stop.stop_requested(); };
  const auto read = [&](std::span<const ReadRequest> requests) {
    target.assign(requests, bin);
    return read_fully(file->fd, requests.front().extent.offset, target, core->counters, filter, stopping);
  };
  const auto answer = [&](std::span<const ReadRequest> requests, std::uint64_t begin, const ReadEnd& end) {
    job.answered += requests.size();
    core->answer_merged(requests, begin, end.bytes, end.errnum);
  };
  const ReadEnd end = read(job.requests);
  if (stopping()) return;
  if (end.errnum == 0 || job.requests.size() == 1) return answer(job.requests, job.read.offset, end);
  for (const ReadRequest& request : job.requests) {  // a bad sector in one request must not fail its neighbours
    const ReadEnd own = read({&request, 1});
    if (stopping()) return;
    answer({&request, 1}, request.extent.offset, own);
  }
}

PreadEngine::PreadEngine(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter)
    : state_(std::make_shared<State>(std::move(core), options, std::move(filter))) {
  const unsigned threads = options.threads != 0 ? options.threads : kThreads;
  const auto bins = std::make_shared<std::vector<std::vector<std::byte>>>(
      threads, std::vector<std::byte>(std::min(options.merge_gap_bytes, options.merge_bytes)));
  start_threads(threads_, "pread-", threads, [state = state_, bins](unsigned number, const std::stop_token& stop) {
    state->run(stop, (*bins)[number]);
  });
}

PreadEngine::~PreadEngine() {
  stop(kStopGrace);
}

bool PreadEngine::stop(std::chrono::milliseconds grace) {
  state_->core->gate.close();
  for (Thread& thread : threads_) thread.request_stop();
  const Deadline deadline(grace);
  for (Thread& thread : threads_) {
    if (!thread.join_for(deadline.left())) abandoned_ = true;
  }
  threads_.clear();
  return !abandoned_;
}

void PreadEngine::submit(std::span<const ReadRequest> requests) {
  state_->core->submit(requests, [this](std::span<const ReadRequest> admitted) { state_->push(admitted); });
}

EngineStats PreadEngine::stats() const {
  return state_->core->counters.total();
}

}  // namespace penstock
