#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <penstock/loader/pread_engine.hpp>

namespace penstock {
namespace {

constexpr unsigned kThreads = 16;

struct Job {
  MergedRead read{};
  std::vector<ReadRequest> requests;  // sorted, disjoint
};

}  // namespace

struct PreadEngine::State {
  State(std::shared_ptr<ReadDesk> answers, const EngineOptions& engine_options, AnswerFilter answer_filter)
      : desk(std::move(answers)), options(engine_options), filter(std::move(answer_filter)) {}

  void push(std::span<const ReadRequest> requests);
  std::optional<Job> pop(std::stop_token stop);
  void recycle(Job job);
  void run(std::stop_token stop);
  void serve(const Job& job, Scatter& scatter, std::span<std::byte> bin, const std::stop_token& stop);

  std::shared_ptr<ReadDesk> desk;
  const EngineOptions options;
  const AnswerFilter filter;

  std::mutex mutex;  // guards what follows
  std::condition_variable_any changed;
  std::deque<Job> jobs;
  std::vector<Job> spare;           // served, kept for their memory
  std::vector<ReadRequest> sorted;  // of the submission being queued
  std::vector<MergedRead> reads;
};

void PreadEngine::State::push(std::span<const ReadRequest> requests) {
  const std::lock_guard lock(mutex);
  sorted.assign(requests.begin(), requests.end());
  coalesce(sorted, options.merge_gap, options.merge_bytes, reads);
  for (const MergedRead& read : reads) {
    Job job;
    if (!spare.empty()) {
      job = std::move(spare.back());
      spare.pop_back();
    }
    job.read = read;
    const auto members = std::span(sorted).subspan(read.first, read.count);
    job.requests.assign(members.begin(), members.end());
    jobs.push_back(std::move(job));
  }
  if (reads.size() == 1)
    changed.notify_one();
  else
    changed.notify_all();
}

std::optional<Job> PreadEngine::State::pop(std::stop_token stop) {
  std::unique_lock lock(mutex);
  if (!changed.wait(lock, stop, [this] { return !jobs.empty(); }) || stop.stop_requested()) return std::nullopt;
  Job job = std::move(jobs.front());
  jobs.pop_front();
  return job;
}

void PreadEngine::State::recycle(Job job) {
  const std::lock_guard lock(mutex);
  spare.push_back(std::move(job));
}

void PreadEngine::State::run(std::stop_token stop) {
  Scatter scatter;
  std::vector<std::byte> bin(std::min(options.merge_gap, options.merge_bytes));
  while (auto job = pop(stop)) {
    {
      const BusyTime busy(desk->counters);
      serve(*job, scatter, bin, stop);
    }
    recycle(std::move(*job));
  }
}

void PreadEngine::State::serve(const Job& job, Scatter& scatter, std::span<std::byte> bin,
                               const std::stop_token& stop) {
  std::shared_ptr<const OpenFile> file;
  try {
    file = desk->files.open(job.read.file);
  } catch (const Error& error) {
    for (const ReadRequest& request : job.requests)
      desk->fail(request.tag, error.in({.offset = request.extent.offset}));
    return;
  }
  const auto stopping = [&stop] { return stop.stop_requested(); };
  const auto read = [&](std::span<const ReadRequest> requests) {
    scatter.assign(requests, bin);
    return read_fully(file->fd, requests.front().extent.offset, scatter, desk->counters, filter, stopping);
  };
  const ReadEnd end = read(job.requests);
  if (stopping()) return;
  if (end.errnum == 0 || job.requests.size() == 1)
    return desk->answer_merged(job.requests, job.read.offset, end.bytes, end.errnum);
  for (const ReadRequest& request : job.requests) {  // a bad place in one of them must not fail its neighbours
    const ReadEnd own = read({&request, 1});
    if (stopping()) return;
    desk->answer_merged({&request, 1}, request.extent.offset, own.bytes, own.errnum);
  }
}

PreadEngine::PreadEngine(std::shared_ptr<ReadDesk> desk, const EngineOptions& options, AnswerFilter filter)
    : state_(std::make_shared<State>(std::move(desk), options, std::move(filter))) {
  const unsigned threads = options.threads != 0 ? options.threads : kThreads;
  for (unsigned i = 0; i < threads; ++i)
    threads_.emplace_back("pread-" + std::to_string(i),
                          [state = state_](std::stop_token stop) { state->run(std::move(stop)); });
}

PreadEngine::~PreadEngine() {
  stop(kStopGrace);
}

bool PreadEngine::stop(std::chrono::milliseconds grace) {
  state_->desk->gate.close();
  for (Thread& thread : threads_) thread.request_stop();
  const Deadline deadline(grace);
  for (Thread& thread : threads_) {
    if (!thread.join_for(deadline.left())) abandoned_ = true;
  }
  threads_.clear();
  return !abandoned_;
}

void PreadEngine::submit(std::span<const ReadRequest> requests) {
  state_->desk->counters.asked(requests);
  std::vector<ReadRequest> admitted;
  admitted.reserve(requests.size());
  for (const ReadRequest& request : requests)
    if (state_->desk->admits(request)) admitted.push_back(request);
  if (!admitted.empty()) state_->push(admitted);
}

EngineStats PreadEngine::stats() const {
  return state_->desk->counters.total();
}

}  // namespace penstock
