// Replaces the io_uring engine in builds without liburing.
#include <cerrno>

#include <storage/read/read_engine.hpp>
#include <storage/uring/uring_engine.hpp>

namespace penstock {

class UringReader {};

UringEngine::UringEngine(std::shared_ptr<EngineCore>, const EngineOptions&, AnswerFilter) {
  throw Error::unsupported("io_uring: this build has no liburing (install liburing-dev and build again)");
}
UringEngine::~UringEngine() = default;
bool UringEngine::stop(std::chrono::milliseconds) {
  return true;
}
void UringEngine::submit(std::span<const ReadRequest>) {}

int uring_refusal() {
  return ENOPKG;
}

}  // namespace penstock
