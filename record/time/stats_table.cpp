// The table of times, as text for people.
#include <ostream>

#include <base/amounts.hpp>
#include <penstock/stats.hpp>
#include <record/time/rates.hpp>

namespace penstock {
namespace {

template <typename... Values>
void print(std::ostream& out, const char* format, Values... values) {
  out << text_of(format, values...);
}

// Prints the storage below the stage `read` as separate rows. Their times are sums over requests, and over threads.
void print_behind_read(std::ostream& out, const Stats& stats) {
  const auto row = [&](const char* name, std::chrono::nanoseconds busy) {
    print(out, "%-11s %7s %10.3f  ", name, "", seconds_of(busy));
  };
  if (reads_store(stats)) {
    row("store", stats.reads.store.waited);
    out << store_text(stats) << "\n";
  }
  if (!has_disk_cache(stats)) return;
  row("disk cache", stats.disk_cache.reading + stats.disk_cache.writing);
  out << disk_cache_text(stats) << "\n";
}

void print_wait(std::ostream& out, const Stats& stats) {
  const double wait = seconds_of(stats.data_wait);
  const double wall = seconds_of(stats.wall);
  print(out, "data wait   %.3f s (%.1f %% of the time)", wait, wall > 0 ? 100 * wait / wall : 0.0);
  const char* separator = ": ";
  for (const auto& [stage, time] : stats.data_wait_by_stage) {
    if (wait <= 0 || seconds_of(time) / wait < 0.005) continue;
    print(out, "%s%s %.0f %%", separator, stage.c_str(), 100 * seconds_of(time) / wait);
    separator = ", ";
  }
  print(out, "; steps %.3f s\n", seconds_of(stats.step_time));
}

void print_times(std::ostream& out, const Stats& stats) {
  for (const auto& [name, times] : stats.histograms) {
    const bool worth = name == "data_wait" || name == "step" || name == "sample" || name == "request";
    if (!worth || times.count == 0) continue;
    const auto ms = [](std::uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; };
    print(out, "%-11s half within %.3f ms, 90 %% within %.3f, 99 %% within %.3f, the longest %.3f ms\n", name.c_str(),
          ms(times.quantile(0.5)), ms(times.quantile(0.9)), ms(times.quantile(0.99)), ms(times.max));
  }
}

void print_checks(std::ostream& out, const Stats& stats) {
  out << "checksums   " << name(stats.checksums);
  if (stats.checksums != Checksums::off) {
    print(out, ": %llu values or parts checked (%.1f MB)", static_cast<unsigned long long>(stats.checks.checked),
          static_cast<double>(stats.checks.checked_bytes) / 1e6);
    if (stats.checks.unchecked != 0)
      print(out, ", %llu without a checksum (%.1f MB)", static_cast<unsigned long long>(stats.checks.unchecked),
            static_cast<double>(stats.checks.unchecked_bytes) / 1e6);
    if (stats.checks.mismatches != 0)
      print(out, ", %llu differed on the first read", static_cast<unsigned long long>(stats.checks.mismatches));
  }
  out << "\n";
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Stats& stats) {
  const double wall = seconds_of(stats.wall);
  print(out, "%llu samples in %.3f s: %.1f samples/s, %.1f MB/s read, first batch after %.1f ms\n",
        static_cast<unsigned long long>(stats.samples), wall,
        wall > 0 ? static_cast<double>(stats.samples) / wall : 0.0,
        wall > 0 ? static_cast<double>(stats.stored_bytes) / wall / 1e6 : 0.0, seconds_of(stats.first_batch) * 1e3);
  print(out, "%-11s %7s %10s %12s %12s\n", "stage", "threads", "busy s", "input wait s", "room wait s");
  for (const StageStats& stage : stats.stages) {
    const int spare = std::max(0, 18 - static_cast<int>(std::max<std::size_t>(11, stage.name.size())));
    print(out, "%-11s %*u %10.3f %12.3f %12.3f\n", stage.name.c_str(), spare, stage.threads, seconds_of(stage.busy),
          seconds_of(stage.input_wait), seconds_of(stage.room_wait));
  }
  print_behind_read(out, stats);
  print_wait(out, stats);
  out << "verdict     " << verdict_of(stats).text << "\n";
  print_times(out, stats);
  out << "engine      " << name(stats.engine) << ": " << stats.engine_reason << "\n";
  print(out, "memory      %.1f MB in %llu batch buffers, %.1f MB read window, %.1f MB blocks",
        static_cast<double>(stats.slab_bytes) / 1e6, static_cast<unsigned long long>(stats.slabs),
        static_cast<double>(stats.window_bytes) / 1e6, static_cast<double>(stats.block_cache_bytes) / 1e6);
  if (stats.held_max_bytes != 0)
    print(out, ", up to %.1f MB more (max_live_batches)", static_cast<double>(stats.held_max_bytes) / 1e6);
  out << "\n";
  out << "staging     " << stats.staging << "\n";
  if (!stats.device.empty()) {
    out << "device      " << stats.device << ": ";
    print(out, "%.1f MB in %llu batch buffers\n", static_cast<double>(stats.device_bytes) / 1e6,
          static_cast<unsigned long long>(stats.device_slabs));
    if (const double copying = seconds_of(stats.copy_time); copying > 0)
      print(out, "copies      %.1f MB, %.2f GB/s while they ran\n", static_cast<double>(stats.copied_bytes) / 1e6,
            static_cast<double>(stats.copied_bytes) / copying / 1e9);
  }
  if (!stats.gpu_direct.empty()) {
    out << "gpu direct  ";
    if (stats.gpu_direct_bytes != 0) print(out, "%.1f MB, ", static_cast<double>(stats.gpu_direct_bytes) / 1e6);
    out << stats.gpu_direct << "\n";
  }
  if (!stats.gpu_jpeg.empty()) {
    out << "gpu jpeg    ";
    if (stats.gpu_jpeg_rows != 0) print(out, "%llu images, ", static_cast<unsigned long long>(stats.gpu_jpeg_rows));
    out << stats.gpu_jpeg << "\n";
    if (stats.gpu_jpeg_refused != 0)
      print(out, "            %llu batches were decoded by the CPU, because the device found a bad JPEG in them\n",
            static_cast<unsigned long long>(stats.gpu_jpeg_refused));
  }
  if (stats.blocks_undone != 0)
    print(out, "blocks      %llu decompressed\n", static_cast<unsigned long long>(stats.blocks_undone));
  if (stats.cache_kind != CacheKind::none) {
    out << "cache       " << name(stats.cache_kind);
    if (stats.cache.members != 0)
      print(out, ", shared by %llu loaders of the node", static_cast<unsigned long long>(stats.cache.members));
    print(out, ": %.1f of %.1f MB in %llu values, %llu hits, %llu misses", static_cast<double>(stats.cache.used) / 1e6,
          static_cast<double>(stats.cache.reserved) / 1e6, static_cast<unsigned long long>(stats.cache.values),
          static_cast<unsigned long long>(stats.cache.hits), static_cast<unsigned long long>(stats.cache.misses));
    if (stats.cache.members != 0)
      print(out, "; other loaders cached the values of %llu hits",
            static_cast<unsigned long long>(stats.cache.hits_of_others));
    out << "\n";
  }
  print_checks(out, stats);
  if (stats.workers_max > stats.workers_now || stats.workers_now != stats.workers)
    out << "workers     " << stats.workers_now << " now, " << stats.workers << " on average, " << stats.workers_max
        << " at most, " << stats.workers_observed << " observed\n";
  else
    out << "workers     " << stats.workers << " requested, " << stats.workers_observed << " observed\n";
  if (stats.bad_samples != 0) {
    print(out, "bad samples %llu; the first: ", static_cast<unsigned long long>(stats.bad_samples));
    out << (stats.bad.empty() ? std::string() : stats.bad.front().cause) << "\n";
  }
  if (stats.excluded_samples != 0)
    out << "excluded    " << stats.excluded_samples << " samples that lack a field or a whole window\n";
  if (!stats.notes.empty()) out << "note        " << stats.notes << "\n";
  return out;
}

}  // namespace penstock
