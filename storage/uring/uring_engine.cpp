#include <algorithm>
#include <string>
#include <utility>

#include <storage/uring/uring_engine.hpp>
#include <storage/uring/uring_reader.hpp>

namespace penstock {
namespace {

EngineOptions within_limits(EngineOptions options) {
  constexpr unsigned kLargestDepth = 4096;
  constexpr std::uint64_t kLargestMerge = 64 << 20;
  options.depth = std::clamp(options.depth, 1u, kLargestDepth);
  options.merge_bytes = std::min(options.merge_bytes, kLargestMerge);
  return options;
}

}  // namespace

UringEngine::UringEngine(std::shared_ptr<EngineCore> core, const EngineOptions& options, AnswerFilter filter)
    : core_(std::move(core)) {
  try {
    for (unsigned i = 0; i < std::max(options.threads, 1u); ++i) start_reader(within_limits(options), filter);
  } catch (...) {
    stop(kStopGrace);
    throw;
  }
}

// Waits until the thread has set up its ring: a refusal is thrown here, and choose_engine() can fall back to pread.
void UringEngine::start_reader(const EngineOptions& options, const AnswerFilter& filter) {
  auto reader = std::make_shared<UringReader>(core_, options, filter);
  auto ready = std::make_shared<std::promise<void>>();
  std::future<void> answer = ready->get_future();
  readers_.push_back(reader);
  threads_.emplace_back("ring-" + std::to_string(threads_.size()),
                        [reader, ready](const std::stop_token& stop) { reader->run(stop, *ready); });
  answer.get();
}

UringEngine::~UringEngine() {
  stop(kStopGrace);
}

bool UringEngine::stop(std::chrono::milliseconds grace) {
  core_->gate.close();
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].request_stop();
    readers_[i]->wake();
  }
  const Deadline deadline(grace);
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    if (!threads_[i].join_for(deadline.left()) || readers_[i]->broken()) abandoned_ = true;
  }
  threads_.clear();
  return !abandoned_;
}

void UringEngine::submit(std::span<const ReadRequest> requests) {
  core_->submit(requests, [this](std::span<const ReadRequest> admitted) {
    // relaxed: only distributes submissions over the readers
    readers_[next_.fetch_add(1, std::memory_order_relaxed) % readers_.size()]->submit(admitted);
  });
}

int uring_refusal() {
  io_uring ring{};
  const int refusal = try_ring(8, ring);
  if (refusal == 0) io_uring_queue_exit(&ring);
  return refusal;
}

}  // namespace penstock
