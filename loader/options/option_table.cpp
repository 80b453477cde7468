#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <loader/options/option_table.hpp>

namespace penstock {
namespace {

constexpr std::string_view kFirst = "What people set first", kOrder = "Order and ranks", kErrors = "Errors and data",
                           kMachine = "Machine", kOwn = "Your own code and logs", kCache = "CacheOptions",
                           kDisk = "DiskCacheOptions", kRead = "ReadOptions", kMemory = "MemoryOptions",
                           kDevice = "DeviceOptions", kCpp = "C++ alone";

using L = LoaderOptions;
using Bytes = OptionEntry::Bytes;
using ByHand = OptionEntry::ByHand;

template <auto Member, auto... Values>
constexpr OptionEntry::Words words() {
  return {
      .get = [](const L& options) { return name(options.*Member); },
      .set = [](L& options,
                std::string_view word) { return ((name(Values) == word && (options.*Member = Values, true)) || ...); },
      .known = [] { return std::vector<std::string_view>{name(Values)...}; }};
}

constexpr auto kOptions = std::to_array<OptionEntry>({
    {kFirst, "batch_size", &L::batch_size, "Samples in a batch.", "Your training decides it."},
    {kFirst, "shuffle", ByHand{"bool | penstock.shuffle.Shuffle", "False"},
     "True: a new order in every epoch. ps.shuffle.blocks(n) permutes blocks, ps.shuffle.window(n) shuffles "
     "neighbours.",
     "Set it for training."},
    {kFirst, "fields", ByHand{"dict[str, penstock.Chain | penstock.Transform] | None", "None"},
     "A chain of transforms for each output: {\"jpg\": ps.image.resize(256) | ps.image.normalize(mean, std)}. A chain "
     "reads "
     "the field of its output's name, or begins with ps.field(). None: every stored field, decoded.",
     "Always for training: it says how images are cropped and normalized, and what a label is.", Door::both,
     "transforms"},
    {kFirst, "drop_last", ByHand{"bool", "False"}, "True is last_batch=\"drop\", as in torch's DataLoader.",
     "For training that needs batches of one size.", Door::python},
    {kFirst, "seed", &L::seed, "Order, crops, flips and all other draws are a function of seed, epoch and sample.",
     "Give each run of an experiment its own seed."},
    {kFirst, "workers", ByHand{"int | str | None", "None"},
     "Decoding threads. None: all usable cores, divided by the ranks of this machine. \"auto\": adjusts the number "
     "while the loop runs.",
     "Give less where your training step computes on the cores. `penstock tune` finds the best number."},
    {kFirst, "workers_max", ByHand{"int | None", "None"},
     "Upper limit of workers=\"auto\". None: 4 times as many as at the start, at least 64.",
     "Lower it where memory is scarce: batch buffers are reserved for so many workers.", Door::both, "max_workers"},
    {kFirst, "prefetch", &L::prefetch, "Batches that are ready ahead of your loop.",
     "Raise it where steps take uneven time or storage is slow. Each costs the memory of one batch."},

    {kOrder, "rank", ByHand{"int | str", "0"},
     "Number of this process. \"env\" takes rank and world_size from torchrun, MPI or Slurm.",
     "In every training of several processes: rank=\"env\"."},
    {kOrder, "world", ByHand{"int | None", "None"}, "Number of processes that share an epoch.",
     "With a rank that is a number.", Door::both, "world_size"},
    {kOrder, "sampler", ByHand{"object | None", "None"},
     "Which samples come, and how often: ps.sampler.weighted(), .repeated(), .balanced(), .subset(), or torch's.",
     "Where classes are of unequal sizes, or some samples should come more often.", Door::python},
    {kOrder, "batching", ByHand{"penstock.batching.Batching | None", "None"},
     "ps.batching.by_length(\"tokens\", budget=16384): batches of samples of similar length, with as many rows as the "
     "budget has room for, padding included. Without budget: batch_size rows.",
     "Where rows are padded to the longest of their batch, and lengths differ much.", Door::python},
    {kOrder, "mix", ByHand{"Mix | collections.abc.Sequence[Mix] | None", "None"},
     "mixup() or cutmix() of each batch, or a list of which each batch draws one. Labels become float32.",
     "When you train with mixup or cutmix."},
    {kOrder, "last", words<&L::last, Last::keep, Last::drop, Last::pad>(),
     "Policy for the incomplete last batch. \"keep\": it is shorter; with several ranks it is padded by repeats. "
     "\"drop\": left out. \"pad\": filled by repeats. __valid__ is False for repeats.",
     "\"drop\" for training that needs batches of one size (batch norm, compiled models); \"keep\" or \"pad\" for "
     "evaluation, where every sample counts once.",
     Door::both, "last_batch"},

    {kErrors, "on_error", words<&L::on_error, OnError::raise, OnError::replace, OnError::mark>(),
     "What happens to an invalid sample. \"raise\": an error names it. \"replace\": another sample takes its place. "
     "\"mark\": its row is zeros and __valid__ is False.",
     "\"replace\" for long trainings, \"mark\" for evaluation, where no sample may count twice."},
    {kErrors, "max_error_rate", ByHand{"int | float", "0.05"},
     "Invalid samples that an epoch may have: a count (10), or a share of its samples (0.05). One more raises. Each "
     "rank "
     "counts its own, unless all_reduce is given.",
     "Raise it for data that you know to be worse; 1.0 never raises.", Door::both, "max_errors"},
    {kErrors, "missing", words<&L::missing, Missing::raise, Missing::exclude, Missing::empty>(),
     "What happens to a sample without a field that an output reads. \"raise\": Loader() fails. \"exclude\": epochs "
     "leave it out. \"empty\": ragged outputs have a row without items.",
     "\"exclude\" for data of which only some samples have masks or captions."},
    {kErrors, "timeout", ByHand{"float | None", "None"},
     "Seconds that a batch may take before an error tells what is in flight. None: waits for ever.",
     "Where storage may hang, and a job that ends is better than one that waits."},
    {kErrors, "checksums", words<&L::checksums, Checksums::off, Checksums::first, Checksums::always>(),
     "When values are compared with their CRC-32C: \"off\", \"first\" (the first read of this loader) or \"always\".",
     "\"always\" where you doubt the storage; \"off\" where an epoch is over in seconds and its rows need no "
     "decoding."},
    {kErrors, "expect_classes", ByHand{"collections.abc.Sequence[str] | None", "None"},
     "Class names that the dataset must have, in this order. Otherwise Loader() fails.",
     "For validation data: expect_classes=ps.open(training).classes proves that labels mean the same.", Door::python},

    {kMachine, "device", ByHand{"object | None", "None"},
     "\"cuda:0\" or a torch.device: batches are copied there ahead of your loop. None: they stay on the host.",
     "When you train on a GPU."},
    {kMachine, "device_options", ByHand{"DeviceOptions | None", "None"}, "What the device does, and how far ahead.",
     "To decode JPEGs on the GPU.", Door::python},
    {kMachine, "cache_options", ByHand{"str | CacheOptions | None", "None"},
     "Keeps samples in memory for later epochs: \"encoded\" (stored bytes), \"decoded\" (images as pixels), or with a "
     "limit ps.CacheOptions(\"decoded\", limit=\"8GiB\").",
     "\"decoded\" where the decoded dataset fits into memory; \"encoded\" where storage is slow.", Door::python,
     "cache"},
    {kMachine, "disk_cache", ByHand{"str | os.PathLike | DiskCacheOptions | None", "None"},
     "A folder on a local disk that keeps bytes of datasets in object stores. \"auto\": under the job's temporary "
     "folder.",
     "Where an epoch is read from a store more than once.", Door::python},
    {kMachine, "read_options", ByHand{"ReadOptions | None", "None"}, "How bytes are read.",
     "Hardly ever; `penstock bench` compares engines.", Door::python},
    {kMachine, "memory_options", ByHand{"MemoryOptions | None", "None"},
     "How many batches your program may hold, and how much memory decompressed blocks may take.",
     "Where your loop keeps many batches, or memory is short.", Door::python},

    {kOwn, "on_sample", ByHand{"object | None", "None"},
     "ps.sample(function, outputs): your function gets several outputs of each sample as NumPy arrays, and returns a "
     "dict of their new values.",
     "For augmentations that change an image with its masks and boxes, such as those of Albumentations.", Door::python,
     "sample_transform"},
    {kOwn, "on_batch", ByHand{"object | None", "None"},
     "Your function of each batch, in order, in one thread ahead of the loop. The loop gets what it returns. A second "
     "parameter gets a numpy Generator. It must not use the loader.",
     "For work on whole batches that must not stand in the training step.", Door::both, "batch_transform"},
    {kOwn, "python_workers", ByHand{"int", "0"},
     "Processes that run your own functions, those of ps.transform() and ps.sample(). 0: one thread of your program "
     "runs them.",
     "Where the stage \"python\" is what the loop waits for: as many as there are cores, less those that decode.",
     Door::python},
    {kOwn, "ledger", &L::ledger, "A folder that records every delivered batch, for `penstock audit`.",
     "Where it must be certain what a training has seen: one folder for all ranks and all restarts of it.", Door::both,
     "delivery_log"},
    {kOwn, "publish", &L::publish,
     "Shows live metrics to `penstock top`. PENSTOCK_PUBLISH=0 turns it off for a whole program.",
     "False where nothing may be written to /dev/shm."},
    {kOwn, "sum_over_ranks", ByHand{"object | None", "None"},
     "Your function that sums a number over all ranks, so that max_errors counts for all of them. It must not use the "
     "loader.",
     "In training of several processes with on_error, where one rank alone must not end. ps.torch.Loader sets it.",
     Door::both, "all_reduce"},

    {kCache, "cache", words<&L::cache, CacheKind::none, CacheKind::encoded, CacheKind::decoded>(),
     "What is kept of samples for later epochs: \"encoded\" (stored bytes) or \"decoded\" (images as pixels, before "
     "random transforms). Batches are the same without.",
     "\"decoded\" where the decoded dataset fits into memory; \"encoded\" where storage is slow.", Door::both,
     "cache.kind"},
    {kCache, "cache_bytes", Bytes{&L::cache_bytes}, "Limit in bytes. A full cache keeps what it has, and nothing new.",
     "Give the cache the memory that your program leaves.", Door::both, "cache.limit"},
    {kCache, "cache_scope", words<&L::cache_scope, CacheScope::process, CacheScope::node>(),
     "Who shares the cache: this \"process\", or all processes of a \"node\" that read the same samples in the same "
     "way.",
     "\"node\" with several ranks on a machine.", Door::both, "cache.shared"},
    {kDisk, "cache_dir", &L::cache_dir,
     "A folder on a local disk that keeps bytes of datasets in object stores (s3://, https://). All processes and jobs "
     "that name it share it. \"auto\": one under the job's temporary folder. Local datasets are not kept.",
     "Where an epoch is read from a store more than once.", Door::both, "disk_cache.path"},
    {kDisk, "cache_limit", Bytes{&L::cache_limit},
     "Limit in bytes. 0: the limit that the folder was made with, or nine tenths of what was free then.",
     "Where others need the disk too.", Door::both, "disk_cache.limit"},
    {kRead, "engine",
     words<&L::engine, EngineKind::automatic, EngineKind::io_uring, EngineKind::in_worker, EngineKind::pread,
           EngineKind::gather>(),
     "How bytes are read: \"auto\" (io_uring, else threads), \"io_uring\", \"pread\", \"direct\" or \"gather\". "
     "Batches "
     "are the same, and stats() says which one runs and why.",
     "To compare engines in `penstock bench`; hardly ever in a program.", Door::both, "read_options.engine"},
    {kRead, "direct_io", &L::direct_io, "Reads past the page cache (O_DIRECT), where the file system allows it.",
     "For data larger than memory, so that it does not push everything else out.", Door::both,
     "read_options.direct_io"},
    {kRead, "read_window", Bytes{&L::read_window}, "Bytes that are read ahead of the workers.",
     "Raise it where single values are many megabytes, or storage has long delays.", Door::both,
     "read_options.read_ahead_bytes"},
    {kRead, "unreadable", &L::unreadable,
     "Keys of samples that the storage does not return (damaged sectors, lost files). The loader does not read them, "
     "and treats them as invalid: on_error must be \"replace\" or \"mark\". The order of samples does not change.",
     "When a restored training fails with the same read error again: the message names the key, and the saved state "
     "stays valid.",
     Door::both, "read_options.unreadable"},
    {kMemory, "held", ByHand{"int | None", "None"},
     "Batches that your program may hold at once in memory that is reserved for them. None: 4. Values of at most 256 "
     "bytes a row (labels, boxes) are copies and do not count.",
     "When your loop keeps more than a few batches; or less, where memory is short.", Door::both,
     "memory_options.reserved_batches"},
    {kMemory, "held_max", ByHand{"int | None", "None"},
     "Batches that your program may hold at most, in memory that is taken when it comes to that and kept. One more "
     "raises an error. None: reserved_batches where that is given, else 16.",
     "max_live_batches=len(loader) where you want list(loader) and memory has room.", Door::both,
     "memory_options.max_live_batches"},
    {kMemory, "max_items", &L::max_items,
     "Largest number of items that a sample may have in a ragged output (of images of different sizes: elements). 0: "
     "as the data has.",
     "To reserve memory for ragged rows up front, and to refuse samples that are larger.", Door::both,
     "memory_options.max_items"},
    {kMemory, "block_cache", Bytes{&L::block_cache},
     "Bytes of decompressed blocks that are kept (chunks of HDF5, compressed shards).",
     "Raise it where the loader warns that a shuffle decompresses blocks many times.", Door::both,
     "memory_options.block_cache_bytes"},
    {kDevice, "where", words<&L::where, Where::automatic, Where::host, Where::device>(),
     "Where the last transforms of images (normalize, cast) and of points run. \"auto\": on the device, where no more "
     "bytes cross. \"host\", \"device\": there. Batches are the same.",
     "\"host\" where the GPU has no time to spare.", Door::both, "device_options.finish_on"},
    {kDevice, "device_prefetch", &L::device_prefetch,
     "Batches on the device ahead of your loop, those on their way included.",
     "Less where the device's memory is short.", Door::both, "device_options.prefetch"},
    {kDevice, "gpu_jpeg", &L::gpu_jpeg,
     "Share, 0 to 1, of the JPEGs that the GPU decodes (nvJPEG), crops, resizes and flips. Its pixels differ from the "
     "processor's by a few levels. Not with batch_transform, mix or cache.",
     "Where the cores are the limit and the GPU has time to spare.", Door::both, "device_options.gpu_jpeg"},
    {kDevice, "gpu_jpeg_bytes", Bytes{&L::gpu_jpeg_bytes}, "Bytes of device memory for images that it decodes.",
     "With gpu_jpeg and large images.", Door::both, "device_options.gpu_jpeg_bytes"},
    {kDevice, "gpu_direct", &L::gpu_direct,
     "Experimental, no GPU has run it yet. Reads rows that are stored as they are, of a page or more, from their files "
     "straight into the device's memory (GPUDirect Storage). Other rows go through the host, and stats() says why. Not "
     "with batch_transform, mix or cache.",
     "For large arrays on NVMe, with a driver that has GPUDirect Storage.", Door::both, "device_options.gpu_direct"},

    {kCpp,
     "max_error_count",
     {},
     "max_error_rate as a number of samples. Python: max_errors=10.",
     "Where a share says too little, as of a few samples.",
     Door::cpp},
    {kCpp, "shuffle_block", &L::shuffle_block,
     "Permutes blocks of so many samples, and the samples inside 16 blocks at a time. Python: ps.shuffle.blocks(n).",
     "For HDF5 with compressed chunks (give the samples of a chunk), and for disks that are slow at random reads.",
     Door::cpp},
    {kCpp, "shuffle_window", &L::shuffle_window,
     "Shuffles the samples of each window of so many neighbours. Python: ps.shuffle.window(n).", "For a curriculum.",
     Door::cpp},
    {kCpp, "subset", &L::subset,
     "The numbers of the samples that an epoch delivers, in their unshuffled order. Python: ps.sampler.subset().",
     "To split a dataset into training and validation, or to try a program on 100 samples.", Door::cpp},
    {kCpp,
     "draws",
     {},
     "How often samples come (penstock/sampling.hpp). Python: sampler.",
     "As sampler in Python.",
     Door::cpp},
    {kCpp,
     "buckets",
     {},
     "Batches of similar lengths (penstock/sampling.hpp). Python: batching.",
     "As batching in Python.",
     Door::cpp},
    {kCpp, "mixture", {}, "The datasets that are mixed. Loader(const Mixture&) sets it.", "Never by hand.", Door::cpp},
    {kCpp,
     "windows",
     {},
     "Which samples the rows of windows have. A loader whose chains begin with window() makes it itself.",
     "Never by hand.",
     Door::cpp},
    {kCpp,
     "engine_threads",
     {},
     "Reader threads: rings, or pread threads. 0 chooses: 1 ring, 16 pread threads.",
     "For network file systems that answer slowly, with many requests in flight.",
     Door::cpp},
    {kCpp, "engine_depth", {}, "Requests in flight for each ring.", "As engine_threads.", Door::cpp},
    {kCpp,
     "merge_gap_bytes",
     {},
     "Extents that lie so close to each other are read as one.",
     "Raise it for storage where each request costs much.",
     Door::cpp},
    {kCpp, "merge_bytes", {}, "Such a read stays within this.", "As merge_gap_bytes.", Door::cpp},
    {kCpp, "on_batch_stage", {}, "Name of the stage of on_batch in the stats.", "Hardly ever.", Door::cpp},
    {kCpp, "on_device", {}, "An open device. Overrides `device`.", "In tests.", Door::cpp},
    {kCpp, "on_device_jpeg", {}, "An open decoder, which is used instead of the device's own.", "In tests.", Door::cpp},
});

// The annotation and the default of an option in Python's signature.
struct InPython {
  using Text = PythonValue;
  Text operator()(std::monostate) const { return {}; }
  Text operator()(bool L::*member) const { return {"bool", defaults.*member ? "True" : "False"}; }
  Text operator()(unsigned L::*member) const { return {"int", std::to_string(defaults.*member)}; }
  Text operator()(std::uint64_t L::*member) const { return {"int", std::to_string(defaults.*member)}; }
  Text operator()(double L::*member) const { return {"float", python_float(defaults.*member)}; }
  Text operator()(std::string L::*) const { return {"str | None", "None"}; }
  Text operator()(std::filesystem::path L::*) const { return {"str | os.PathLike | None", "None"}; }
  Text operator()(std::optional<std::uint64_t> L::*) const { return {"int | None", "None"}; }
  Text operator()(std::vector<std::string> L::*) const { return {"collections.abc.Sequence[str] | None", "None"}; }
  Text operator()(std::optional<std::vector<std::uint64_t>> L::*) const {
    return {"collections.abc.Sequence[int] | None", "None"};
  }
  Text operator()(OptionEntry::Bytes bytes) const { return {"int | str", std::to_string(defaults.*bytes.member)}; }
  Text operator()(const OptionEntry::Words& words) const {
    const std::string word(words.get(defaults));
    return word == "none" ? Text{.type = "str | None", .value = "None"}
                          : Text{.type = "str", .value = "'" + word + "'"};
  }
  Text operator()(const OptionEntry::ByHand& own) const { return {std::string(own.type), std::string(own.value)}; }

  static std::string python_float(double value) {
    const std::string text = shortest_decimal(value);
    return text.find('.') == std::string::npos ? text + ".0" : text;
  }
  LoaderOptions defaults = {};
};

/// Breaks text into lines of at most 92 characters; all but the first begin with two blanks.
std::string lines_of(std::string_view text) {
  constexpr std::size_t kWidth = 92;  // help() puts them 8 columns in
  std::string lines;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t room = kWidth - (begin == 0 ? 0 : 2);
    std::size_t end = text.size();
    if (end - begin > room) {
      const std::size_t blank = text.rfind(' ', begin + room);
      if (blank != std::string_view::npos && blank > begin) end = blank;
    }
    lines += begin == 0 ? "" : "\n  ";
    lines += text.substr(begin, end - begin);
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::span<const OptionEntry> loader_options() {
  return kOptions;
}

const OptionEntry& loader_option(std::string_view name) {
  return *std::ranges::find(kOptions, name, &OptionEntry::name);
}

PythonPlace python_place(const OptionEntry& option) {
  if (option.door == Door::cpp) return {};
  const std::size_t dot = option.python.find('.');
  if (dot != std::string_view::npos) return {option.python.substr(0, dot), option.python.substr(dot + 1)};
  return {"", option.python.empty() ? option.name : option.python};
}

std::vector<const OptionEntry*> options_of_python(std::string_view object) {
  std::vector<const OptionEntry*> options;
  for (const OptionEntry& option : kOptions) {
    const PythonPlace place = python_place(option);
    if (!place.keyword.empty() && place.object == object) options.push_back(&option);
  }
  return options;
}

std::string words_text(const OptionEntry::Words& words) {
  std::vector<std::string_view> known = words.known();
  std::erase(known, "none");
  std::string text;
  for (std::size_t i = 0; i < known.size(); ++i)
    text += (i == 0 ? "" : i + 1 == known.size() ? " or " : ", ") + double_quoted(known[i]);
  return text;
}

PythonValue python_value(const OptionEntry& option) {
  return std::visit(InPython{}, option.member);
}

std::string keywords_for_python(std::string_view object) {
  std::string text;
  for (const OptionEntry* option : options_of_python(object)) {
    const auto [type, value] = python_value(*option);
    text += (text.empty() ? "" : ", ") + std::string(python_place(*option).keyword) + ": " + type + " = " + value;
  }
  return text;
}

std::string options_for_python(std::string_view object) {
  std::string text;
  std::string_view group;
  for (const OptionEntry* option : options_of_python(object)) {
    if (object.empty() && option->group != group)
      text += (group.empty() ? "" : "\n") + std::string(option->group) + "\n";
    group = option->group;
    text += lines_of(std::string(python_place(*option).keyword) + ": " + std::string(option->meaning)) + "\n";
  }
  return text;
}

}  // namespace penstock
