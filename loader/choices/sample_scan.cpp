#include <algorithm>
#include <mutex>
#include <optional>

#include <base/parallel_for.hpp>
#include <loader/choices/sample_scan.hpp>
#include <penstock/error.hpp>

namespace penstock {

void scan_samples(std::uint64_t samples, unsigned workers,
                  const std::function<void(unsigned worker, std::uint64_t sample)>& look,
                  const std::function<void()>& tick) {
  std::mutex mutex;  // guards first_bad and fault
  std::uint64_t first_bad = samples;
  std::optional<Error> fault;
  parallel_for((samples + kScannedAtOnce - 1) / kScannedAtOnce, workers,
               [&](unsigned worker, std::uint64_t group, const std::stop_token& stop) {
                 const std::uint64_t end = std::min(samples, (group + 1) * kScannedAtOnce);
                 for (std::uint64_t sample = group * kScannedAtOnce; sample < end && !stop.stop_requested(); ++sample) {
                   try {
                     look(worker, sample);
                   } catch (const Error& error) {
                     if (!error.is_data_fault()) throw;
                     const std::lock_guard lock(mutex);
                     if (sample < first_bad) {
                       first_bad = sample;
                       fault = error;
                     }
                     return;
                   }
                 }
               },
               [&] {
                 if (tick) tick();
                 return true;
               });
  if (fault) throw Error(*fault);
}

}  // namespace penstock
