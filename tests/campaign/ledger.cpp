#include "campaign/ledger.hpp"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <string>

#include <sys/mman.h>

namespace penstock::campaign {
namespace {

void copy(std::string_view text, Ledger::Text& to) {
  const std::size_t length = std::min(text.size(), to.size() - 1);
  std::copy_n(text.begin(), length, to.begin());
  to.at(length) = '\0';
}

}  // namespace

std::string_view name(Outcome outcome) {
  static constexpr std::array<std::string_view, kOutcomes> kNames{"right", "refused", "WRONG", "ABORTED", "HUNG"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

void Ledger::tell(std::string_view text) {
  copy(text, doing);
}

void Ledger::finding(std::uint64_t trial_number, Outcome outcome, std::string_view text) {
  const std::uint64_t number = found.fetch_add(1, std::memory_order_relaxed);
  if (number >= kFindings) return;
  copy("trial " + std::to_string(trial_number) + " " + std::string(name(outcome)) + ": " + std::string(text),
       findings.at(number));
}

SharedLedger::SharedLedger() {
  void* memory = ::mmap(nullptr, sizeof(Ledger), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory");
  ledger_ = new (memory) Ledger();
}

SharedLedger::~SharedLedger() {
  ::munmap(ledger_, sizeof(Ledger));
}

}  // namespace penstock::campaign
