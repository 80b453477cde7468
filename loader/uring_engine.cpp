#include <algorithm>
#include <string>
#include <utility>

#include <penstock/loader/uring_engine.hpp>
#include <penstock/loader/uring_reader.hpp>

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

UringEngine::UringEngine(std::shared_ptr<ReadDesk> desk, const EngineOptions& options, AnswerFilter filter)
    : desk_(std::move(desk)) {
  for (unsigned i = 0; i < std::max(options.threads, 1u); ++i) {
    auto reader = std::make_shared<UringReader>(desk_, within_limits(options), filter);
    auto ready = std::make_shared<std::promise<void>>();
    std::future<void> answer = ready->get_future();
    readers_.push_back(reader);
    threads_.emplace_back("ring-" + std::to_string(i),
                          [reader, ready](const std::stop_token& stop) { reader->run(stop, *ready); });
    try {
      answer.get();
    } catch (...) {
      stop(kStopGrace);
      throw;
    }
  }
}

UringEngine::~UringEngine() {
  stop(kStopGrace);
}

bool UringEngine::stop(std::chrono::milliseconds grace) {
  desk_->gate.close();
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
  desk_->counters.asked(requests);
  std::vector<ReadRequest> admitted;
  admitted.reserve(requests.size());
  for (const ReadRequest& request : requests)
    if (desk_->admits(request)) admitted.push_back(request);
  // relaxed: only spreads submissions over the readers
  if (!admitted.empty()) readers_[next_.fetch_add(1, std::memory_order_relaxed) % readers_.size()]->submit(admitted);
}

int uring_refusal() {
  io_uring ring{};
  const int refusal = try_ring(8, ring);
  if (refusal == 0) io_uring_queue_exit(&ring);
  return refusal;
}

}  // namespace penstock
