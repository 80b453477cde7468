#include <cstddef>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <formats/index/index.hpp>
#include <formats/io/atomic_file.hpp>
#include <formats/io/file_bytes.hpp>
#include <formats/io/folder_entries.hpp>
#include <formats/packed/commit.hpp>
#include <formats/packed/manifest.hpp>
#include <formats/packed/parts.hpp>
#include <formats/packed/shard_sum.hpp>
#include <formats/packed/skip_report.hpp>
#include <formats/text/json_cause.hpp>
#include <formats/text/json_depth.hpp>
#include <formats/text/json_number.hpp>
#include <penstock/error.hpp>
#include <penstock/join.hpp>

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string text_of(const fs::path& path) {
  const FileBytes file(path);
  std::string text(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
  file.require_whole();
  return text;
}

void write_text(const fs::path& path, const std::string& text) {
  write_atomically(path, std::as_bytes(std::span(text.data(), text.size())));
}

template <typename Read>
auto reading(const fs::path& path, const Read& read) {
  try {
    return read();
  } catch (const Json::exception& error) {
    throw Error::corrupt("not a valid file of an unfinished dataset: " + json_cause(error), {.shard = path.string()});
  } catch (const Error& error) {
    throw error.in({.shard = path.string()});
  }
}

// Returns "1, 4 and 7". A long list is cut.
std::string list_of(const std::vector<std::uint32_t>& numbers) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < numbers.size() && i < kMost; ++i) {
    const bool last = i + 1 == numbers.size();
    text += (i == 0 ? "" : last ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return numbers.size() > kMost ? text + " and " + std::to_string(numbers.size() - kMost) + " more" : text;
}

// The planned moves. After this is written to joining.json, a join can only continue.
struct JoiningPlan {
  struct Source {
    std::string part;        // "part-00000-of-00003"
    std::size_t shards = 0;  // number of the manifest's shards, in its order
  };
  std::string manifest;  // text of penstock.json
  std::vector<Source> sources;
  std::uint64_t skipped = 0;

  std::string to_json() const {
    Json json{{"manifest", manifest}, {"skipped", skipped}, {"parts", Json::array()}};
    for (const Source& source : sources) json["parts"].push_back({{"name", source.part}, {"shards", source.shards}});
    return json.dump(1) + "\n";
  }

  static JoiningPlan read(const fs::path& path) {
    return reading(path, [&] {
      const std::string text = text_of(path);
      require_shallow_json(text);
      const Json json = Json::parse(text);
      JoiningPlan plan{.manifest = json.at("manifest"), .sources = {}, .skipped = whole_number(json.at("skipped"))};
      for (const Json& part : json.at("parts")) {
        plan.sources.push_back({part.at("name"), whole_number(part.at("shards"))});
        if (!PartName::parse(plan.sources.back().part))
          throw Error::corrupt("invalid name of a part in " + path.string());
      }
      return plan;
    });
  }
};

// One finished part, as described in its penstock.json.
struct Part {
  std::uint32_t rank = 0;
  fs::path folder;
  Manifest manifest = {};
  std::string options = {};  // must be equal in all parts
  std::uint64_t first_shard = 0, end_shard = 0, samples = 0, skipped = 0;
  std::string first_key = {}, last_key = {};  // empty if the part has no sample
  std::string report = {};

  std::string name() const { return "rank " + std::to_string(rank); }
};

Part read_part(const fs::path& folder, std::uint32_t rank) {
  Part part{.rank = rank, .folder = folder};
  const fs::path path = folder / Manifest::kFileName;
  part.manifest = Manifest::from_json(text_of(path));
  reading(path, [&] {
    Json made_with = Json::parse(part.manifest.made_with);
    const Json& share = made_with.at("part");
    part.first_shard = whole_number(share.at("first_shard"));
    part.end_shard = whole_number(share.at("end_shard"));
    part.samples = whole_number(share.at("samples"));
    made_with.erase("part");
    part.manifest.made_with = made_with.dump();
    Json options = Json::parse(part.manifest.to_json());
    for (const char* own : {"penstock", "samples", "shards", "made_with"}) options.erase(own);
    options.update(made_with);
    part.options = options.dump();
  });
  part.report = read_skip_report(folder);
  part.skipped = count_lines(part.report);
  for (const ManifestShard& shard : part.manifest.shards) {
    const Index index = Index::open(folder / index_name(shard.name));
    check_shard(folder, shard, index);
    if (index.size() == 0) continue;
    if (part.first_key.empty()) part.first_key = index.key(0);
    part.last_key = index.key(index.size() - 1);
  }
  return part;
}

/// The parts of one join. All checks happen before anything is moved.
class Parts {
 public:
  explicit Parts(const fs::path& partial) : partial_(partial) {
    require_all_there(parts_in(partial));
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      const std::string name = PartName{.rank = rank, .world = world_}.text();
      try {
        parts_.push_back(read_part(partial / name, rank));
        require_like_first(parts_.back());
      } catch (const Error& error) {
        throw error.in({.dataset = (partial / name).string()});
      }
    }
    require_in_order();
  }

  JoiningPlan plan() const {
    Manifest manifest = parts_.front().manifest;
    manifest.shards.clear();
    manifest.samples = 0;
    JoiningPlan plan;
    for (const Part& part : parts_) {
      manifest.samples += part.manifest.samples;
      manifest.shards.insert(manifest.shards.end(), part.manifest.shards.begin(), part.manifest.shards.end());
      plan.sources.push_back({part.folder.filename().string(), part.manifest.shards.size()});
      plan.skipped += part.skipped;
    }
    plan.manifest = manifest.to_json();
    return plan;
  }

  std::string report() const {
    std::string all;
    for (const Part& part : parts_) all += part.report;
    return all;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const {
    throw Error::invalid_argument("cannot finish: " + why, {.dataset = partial_.string()});
  }

  void require_all_there(const std::vector<PartName>& found) {
    world_ = found.front().world;
    if (found.back().world != world_) {
      refuse("the folder contains parts of " + std::to_string(world_) + " and of " +
             std::to_string(found.back().world) + " processes; remove the parts that you do not want");
    }
    std::set<std::uint32_t> finished, begun;
    for (const PartName& part : found) (part.finished ? finished : begun).insert(part.rank);
    std::vector<std::uint32_t> missing, unfinished;
    for (std::uint32_t rank = 0; rank < world_; ++rank) {
      if (begun.contains(rank)) unfinished.push_back(rank);
      if (!begun.contains(rank) && !finished.contains(rank)) missing.push_back(rank);
    }
    std::string why;
    if (!missing.empty()) why = "missing ranks: " + list_of(missing);
    if (!unfinished.empty()) why += (why.empty() ? "" : ", ") + ("unfinished ranks: " + list_of(unfinished));
    if (!why.empty()) {
      refuse("not all " + std::to_string(world_) + " parts are finished (" + why +
             "); run each with pack --rank R --world " + std::to_string(world_) +
             " --resume (ps.pack with rank=R, world=" + std::to_string(world_) + ", resume=True)");
    }
  }

  void require_like_first(const Part& part) const {
    const std::string what = "cannot finish: " + part.name() + " was packed with other options than rank 0";
    require_same_options(parts_.front().options, part.options, what);
  }

  void require_in_order() const {
    std::uint64_t next_shard = 0;
    const Part* before = nullptr;  // the previous part that has samples
    for (const Part& part : parts_) {
      if (part.first_shard != next_shard) refuse(part.name() + " does not begin where the rank before it ends");
      next_shard = part.end_shard;
      if (part.manifest.samples + part.skipped != part.samples) {
        refuse(part.name() + " has " + std::to_string(part.manifest.samples) + " samples and reports " +
               std::to_string(part.skipped) + " as left out, but its share is " + std::to_string(part.samples));
      }
      if (part.manifest.samples == 0) continue;
      if (before != nullptr && before->last_key >= part.first_key) {
        refuse("the keys of " + before->name() + " and " + part.name() + " overlap: '" + before->last_key +
               "' does not come before '" + part.first_key + "'");
      }
      before = &part;
    }
    require_all_samples();
  }

  // The ranks divide the samples of the source. The options contain their number.
  void require_all_samples() const {
    std::uint64_t sum = 0;
    for (const Part& part : parts_) sum += part.samples;
    const std::uint64_t all =
        reading(partial_, [&] { return whole_number(Json::parse(parts_.front().options).at("source").at("samples")); });
    if (sum != all)
      refuse("the parts were made from " + std::to_string(sum) + " samples, but the source has " + std::to_string(all));
  }

  fs::path partial_;
  std::uint32_t world_ = 1;
  std::vector<Part> parts_;
};

// Skips a move that an earlier run already made.
void move_into(const fs::path& folder, const fs::path& part, const fs::path& name) {
  if (fs::exists(part / name)) {
    fs::rename(part / name, folder / name);
  } else if (!fs::exists(folder / name)) {
    throw Error::corrupt("disappeared while the parts were joined", {.shard = (part / name).string()});
  }
}

// Removes temporary files of a killed run.
void remove_temporary_files(const fs::path& folder) {
  std::vector<fs::path> found;
  visit_names(folder, [&](const char* entry) {
    const std::string_view name = entry;
    if (name.starts_with('.') && name.ends_with(".tmp")) found.push_back(folder / name);
    return true;
  });
  for (const fs::path& path : found) fs::remove(path);
}

void move_shards(const fs::path& partial, const JoiningPlan& plan, const Manifest& manifest) {
  auto shard = manifest.shards.begin();
  for (const JoiningPlan::Source& source : plan.sources) {
    for (std::size_t i = 0; i < source.shards && shard != manifest.shards.end(); ++i, ++shard) {
      move_into(partial, partial / source.part, shard->name);
      move_into(partial, partial / source.part, index_name(shard->name));
    }
  }
  sync_folder(partial);  // the moves must be durable before the parts are removed
  remove_temporary_files(partial);
  for (const JoiningPlan::Source& source : plan.sources) remove_tree(partial / source.part);
}

JoinedDataset told(const Manifest& manifest, std::uint64_t skipped) {
  JoinedDataset joined{.samples = manifest.samples, .skipped = skipped, .shards = manifest.shards.size()};
  for (const ManifestShard& shard : manifest.shards) joined.bytes += shard.bytes;
  return joined;
}

JoiningPlan begin_joining(const fs::path& partial) {
  const Parts parts(partial);
  const JoiningPlan plan = parts.plan();
  const std::string report = parts.report();
  report.empty() ? void(fs::remove(partial / SkipReport::kFileName))
                 : write_text(partial / SkipReport::kFileName, report);
  // This must be last: if joining.json exists, a join continues from its plan without reading the parts again.
  write_text(partial / kJoining, plan.to_json());
  return plan;
}

// Handles the case without parts: an earlier run finished, or almost did.
JoinedDataset appeared(const fs::path& destination, const fs::path& partial) {
  if (!fs::exists(destination / Manifest::kFileName)) {
    throw Error::invalid_argument("there is nothing to finish: no process has packed a part of it",
                                  {.dataset = destination.string()});
  }
  if (fs::exists(destination / kJoining)) {
    if (fs::exists(partial)) {  // the replaced dataset
      require_ours(partial);
      remove_dataset(partial);
    }
    fs::remove(destination / kJoining);
    sync_folder(destination);
  }
  return told(Manifest::from_json(text_of(destination / Manifest::kFileName)),
              count_lines(read_skip_report(destination)));
}

JoinedDataset join(const fs::path& destination, bool overwrite) {
  const fs::path partial = partial_path(destination);
  if (!holds_parts(partial)) return appeared(destination, partial);
  if (!overwrite) require_absent(destination);
  if (fs::exists(fs::symlink_status(destination))) require_ours(destination);
  const JoiningPlan plan =
      fs::exists(partial / kJoining) ? JoiningPlan::read(partial / kJoining) : begin_joining(partial);
  const Manifest manifest = Manifest::from_json(plan.manifest);
  move_shards(partial, plan, manifest);
  commit_dataset(partial, destination, plan.manifest, kJoining);
  return told(manifest, plan.skipped);
}

}  // namespace

JoinedDataset join_parts(const fs::path& destination, bool overwrite) {
  const fs::path folder = without_slash(destination);
  try {
    return join(folder, overwrite);
  } catch (const Error& error) {
    throw error.in({.dataset = folder.string()});
  } catch (const fs::filesystem_error& error) {
    throw Error::io(error.code().value(), "cannot change " + error.path1().string(), {.dataset = folder.string()});
  }
}

}  // namespace penstock
