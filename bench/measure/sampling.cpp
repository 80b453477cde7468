#include <algorithm>
#include <chrono>
#include <cmath>
#include <unordered_map>

#include <bench/measure/sampling.hpp>
#include <formats/extent.hpp>
#include <penstock/codec.hpp>
#include <penstock/error.hpp>
#include <penstock/loader.hpp>
#include <penstock/pack.hpp>
#include <storage/uring/uring_refusal.hpp>
#include <transforms/clouds/samplers/sampler.hpp>
#include <transforms/recode/cloud_recoder.hpp>

namespace penstock {
namespace {

/// A cloud, or a sample of it, relative to `origin`.
struct Points {
  std::vector<float> x, y, z;
  std::array<double, 3> origin{};

  PointColumns columns() const { return {x.data(), y.data(), z.data(), x.size()}; }
};

struct Way {
  std::string name, stored;
  const Dataset* dataset;
  Chain chain;
};

class Study {
 public:
  Study(const Dataset& clouds, const SamplingOptions& options)
      : options_(options), field_(options.field.empty() ? find_field(clouds) : options.field), source_(clouds) {}

  SamplingReport run() {
    SamplingReport report;
    report.dataset = summarise(source_);
    report.machine = this_machine(uring_refusal());
    report.file_system = file_system_of(source_);
    report.field = field_;
    report.points = options_.points;
    load_compared();
    for (const Points& cloud : compared_)
      report.points_per_cloud += static_cast<double>(cloud.x.size()) / static_cast<double>(compared_.size());
    pack_all(report.packs);
    list_ways();
    for (const Way& way : ways_)
      report.rows.push_back({.way = way.name, .stored = way.stored, .chain = to_string(way.chain)});
    measure(report.rows);
    for (std::size_t i = 0; i < ways_.size(); ++i) {
      tell("comparing", i, ways_.size());
      compare(ways_[i], report.rows[i]);
    }
    return report;
  }

 private:
  static std::string find_field(const Dataset& dataset) {
    for (std::uint32_t field = 0; field < dataset.fields().size() && dataset.size() > 0; ++field) {
      std::vector<Piece> pieces;
      if (!dataset.locate(0, field, pieces)) continue;
      const FieldSchema& schema = dataset.fields()[field];
      try {
        const std::vector<std::byte> bytes = read_field(dataset, 0, field);
        const Layout layout = codec_for(schema, bytes).decoder(schema)->peek({&schema, bytes});
        if (layout.cloud || (layout.shape.size() == 2 && layout.shape[1] >= 3 && !layout.image)) return schema.name;
      } catch (const Error& error) {
        if (!error.is_data_fault()) throw;
      }
    }
    throw Error::invalid_argument("no field of the first sample contains a point cloud",
                                  {.dataset = dataset.path().string()});
  }

  void tell(const std::string& what, std::uint64_t done, std::uint64_t total) const {
    if (options_.progress && !options_.progress(what, done, total)) throw Error::resource("interrupted");
  }

  /// The points that `chain` makes of one sample.
  Points load(const Dataset& dataset, std::uint64_t sample, const Chain& chain) const {
    LoaderOptions options;
    options.batch_size = 1;
    options.workers = 1;
    options.seed = options_.seed;
    options.transforms = {{field_, chain}};
    options.subset = {{sample}};
    Loader loader(dataset, options);
    const std::optional<Batch> batch = loader.next();
    if (!batch) throw Error::invalid_argument("an epoch has no batch", {.dataset = dataset.path().string()});
    const std::span<const float> values = (*batch)[field_].as<float>();
    const std::span<const double> origin = (*batch)["__origin__"].as<double>();
    Points points;
    std::copy_n(origin.begin(), 3, points.origin.begin());
    for (std::size_t i = 0; i + 2 < values.size(); i += 3) {
      points.x.push_back(values[i]);
      points.y.push_back(values[i + 1]);
      points.z.push_back(values[i + 2]);
    }
    return points;
  }

  void load_compared() {
    const std::uint64_t count = std::min<std::uint64_t>(std::max<std::uint64_t>(options_.compared, 1), source_.size());
    for (std::uint64_t i = 0; i < count; ++i) {
      tell("loading clouds", i, count);
      const std::uint64_t sample = i * source_.size() / count;
      keys_.emplace_back(source_.key(sample));
      compared_.push_back(load(source_, sample, points::decode()));
    }
  }

  void pack_all(std::vector<SamplingPack>& packs) {
    const std::string presample = "fps:" + std::to_string(options_.points);
    packs.push_back(pack("progressive", "--point-order progressive", cloud_recoding("", "progressive", "none")));
    packs.push_back(pack("stratified", "--point-order stratified", cloud_recoding("", "stratified", "none")));
    packs.push_back(pack("presampled", "--presample " + presample, cloud_recoding(presample, "keep", "none")));
  }

  SamplingPack pack(const std::string& name, const std::string& text, const CloudRecoding& recoding) {
    ConvertOptions options;
    options.overwrite = true;
    options.recoding.clouds = recoding;
    const auto start = std::chrono::steady_clock::now();
    const std::filesystem::path path = options_.scratch / name;
    const ConvertResult result = convert(source_, path, options, [&](const ConvertProgress& progress) {
      tell("packing " + name, progress.samples, progress.total_samples);
      return true;
    });
    packed_.push_back(open(path));
    const auto taken = std::chrono::steady_clock::now() - start;
    return {name, text, std::chrono::duration<double>(taken).count(), result.bytes};
  }

  void list_ways() {
    const std::int64_t wanted = options_.points;
    const auto sized = [&](SampleMethod method) { return points::SampleKeywords{.size = size_that_finds(method)}; };
    const auto add = [&](const std::string& name, Chain chain) {
      ways_.push_back({name, "as stored", &source_, std::move(chain)});
    };
    add("random", points::sample(wanted));
    add("blocks", points::sample(wanted, "blocks", {.blocks = 16}));
    add("stratified", points::sample(wanted, "stratified"));
    add("inverse_density", points::sample(wanted, "inverse_density"));
    add("voxel", points::sample(wanted, "voxel", sized(SampleMethod::voxel)));
    add("poisson", points::sample(wanted, "poisson", sized(SampleMethod::poisson)));
    add("random, fps", points::sample(4 * wanted) | points::sample(wanted, "fps"));
    add("fps", points::sample(wanted, "fps"));
    ways_.push_back({"window", "progressive", &packed_[0], points::sample(wanted)});
    ways_.push_back(
        {"window, fps", "progressive", &packed_[0], points::sample(4 * wanted) | points::sample(wanted, "fps")});
    ways_.push_back({"window", "stratified", &packed_[1], points::sample(wanted)});
    ways_.push_back({"all points", "presampled", &packed_[2], points::sample(wanted)});
  }

  /// The largest size, to a precision of 1/50, with which the first cloud yields enough points.
  double size_that_finds(SampleMethod method) const {
    const PointColumns cloud = compared_.front().columns();
    const std::size_t wanted = std::min(static_cast<std::size_t>(options_.points), cloud.count / 2);
    const auto widest = [](const std::vector<float>& values) {
      if (values.empty()) return 0.0;
      const auto [low, high] = std::ranges::minmax(values);
      return static_cast<double>(high) - static_cast<double>(low);
    };
    const double edge =
        std::max({widest(compared_.front().x), widest(compared_.front().y), widest(compared_.front().z)});
    if (!(edge > 0)) return 1;
    const auto finds_enough = [&](double size) {
      Random random(options_.seed, 0, 0, 0);
      ChosenPoints chosen;
      make_sampler({.method = method, .size = size})->choose(cloud, random, chosen);
      return chosen.numbers.size() >= wanted;
    };
    double enough = edge, too_large = edge;
    while (!finds_enough(enough) && enough > edge * 1e-5) {
      too_large = enough;
      enough /= 1.5;
    }
    while (too_large > enough * 1.02) {
      const double size = std::sqrt(enough * too_large);
      (finds_enough(size) ? enough : too_large) = size;
    }
    return enough;
  }

  void measure(std::vector<SamplingRow>& rows) const {
    std::vector<Subject> subjects;
    for (const Way& way : ways_)
      subjects.push_back(
          {*way.dataset, {.name = way.name + ", " + way.stored, .reason = {}, .fields = {{field_, way.chain}}}});
    SweepOptions sweep_options;
    const auto batch = static_cast<std::uint32_t>(std::min<std::uint64_t>(source_.size(), 4));
    sweep_options.settings = {{.workers = 1, .prefetch = 1, .batch_size = batch}};
    sweep_options.seconds = options_.seconds;
    sweep_options.efficiency = sweep_options.limits = false;
    sweep_options.trial.loader.seed = options_.seed;
    sweep_options.trial.keep_going = [&] { return !options_.progress || options_.progress("measuring", 0, 0); };
    sweep_options.progress = [&](std::uint64_t done, std::uint64_t total) { tell("measuring", done, total); };
    for (const BenchRow& row : sweep(subjects, sweep_options).rows) {
      const auto milliseconds = [](double rate) { return rate > 0 ? 1000 / rate : 0; };
      rows[row.subject].ms_per_cloud = {milliseconds(row.samples_per_s.median), milliseconds(row.samples_per_s.high),
                                        milliseconds(row.samples_per_s.low)};
      if (row.samples > 0)
        rows[row.subject].bytes_per_cloud = row.mb_per_s * 1e6 * row.seconds / static_cast<double>(row.samples);
    }
  }

  void compare(const Way& way, SamplingRow& row) const {
    std::unordered_map<std::string_view, std::uint64_t> samples;
    for (std::uint64_t sample = 0; sample < way.dataset->size(); ++sample) samples[way.dataset->key(sample)] = sample;
    for (std::size_t i = 0; i < compared_.size(); ++i) {
      const Points& cloud = compared_[i];
      Points taken = load(*way.dataset, samples.at(keys_[i]), way.chain);
      const auto move = [&](std::vector<float>& values, std::size_t axis) {
        const double by = taken.origin[axis] - cloud.origin[axis];
        for (float& value : values) value = static_cast<float>(static_cast<double>(value) + by);
      };
      move(taken.x, 0);
      move(taken.y, 1);
      move(taken.z, 2);
      const Coverage covered = coverage(cloud.columns(), taken.columns());
      row.coverage.mean += covered.mean / static_cast<double>(compared_.size());
      row.coverage.most += covered.most / static_cast<double>(compared_.size());
      for (std::size_t p = 0; i == 0 && p < taken.x.size(); ++p) row.side_view.push_back({taken.x[p], taken.z[p]});
    }
  }

  const SamplingOptions& options_;
  std::string field_;
  const Dataset& source_;
  std::vector<Dataset> packed_;
  std::vector<std::string> keys_;
  std::vector<Points> compared_;
  std::vector<Way> ways_;
};

}  // namespace

SamplingReport compare_sampling(const Dataset& clouds, const SamplingOptions& options) {
  if (clouds.size() == 0)
    throw Error::invalid_argument("the dataset has no clouds", {.dataset = clouds.path().string()});
  if (options.points < 1) throw Error::invalid_argument("the number of points must be at least 1");
  return Study(clouds, options).run();
}

}  // namespace penstock
