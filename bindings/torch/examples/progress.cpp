#include "progress.hpp"

#include <cstdio>

namespace {

constexpr std::size_t kWindow = 50;  // steps that the averages are of

void add_to(Step& sum, const Step& step) {
  sum.samples += step.samples;
  sum.loading += step.loading;
  sum.training += step.training;
  if (step.loss) sum.loss = sum.loss.value_or(0) + *step.loss * static_cast<double>(step.samples);
  if (step.correct) sum.correct = sum.correct.value_or(0) + *step.correct;
}

double rate(const Step& sum) {
  return static_cast<double>(sum.samples) / (sum.loading + sum.training).count();
}

}  // namespace

void Progress::add(std::uint64_t epoch, const Step& step) {
  if (steps_ == 0) {
    std::printf("%5s %6s %8s %9s %10s %11s %12s\n", "epoch", "step", "loss", "accuracy", "samples/s", "loading ms",
                "training ms");
  }
  epoch_ = epoch;
  ++steps_;
  add_to(sum_, step);
  last_.push_back(step);
  if (last_.size() > kWindow) last_.pop_front();
  if (steps_ % every_ == 0) print();
}

void Progress::end_epoch() {
  if (printed_ != steps_) print();
}

void Progress::print() {
  printed_ = steps_;
  Step window;
  for (const Step& step : last_) add_to(window, step);
  const auto steps = static_cast<double>(last_.size()), samples = static_cast<double>(window.samples);
  std::printf("%5llu %6llu ", static_cast<unsigned long long>(epoch_), static_cast<unsigned long long>(steps_));
  if (window.loss)
    std::printf("%8.4f %9.3f ", *window.loss / samples, *window.correct / samples);
  else
    std::printf("%8s %9s ", "-", "-");
  std::printf("%10.0f %11.2f %12.2f\n", rate(window), 1e3 * window.loading.count() / steps,
              1e3 * window.training.count() / steps);
  std::fflush(stdout);
}

void Progress::print_sums(std::uint64_t bytes_read) const {
  std::printf("%llu samples in %.2f s: %.0f samples/s, loading %.2f s, training %.2f s, %.1f MB read\n",
              static_cast<unsigned long long>(sum_.samples), (sum_.loading + sum_.training).count(),
              sum_.samples == 0 ? 0.0 : rate(sum_), sum_.loading.count(), sum_.training.count(),
              static_cast<double>(bytes_read) / 1e6);
}
