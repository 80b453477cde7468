#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <base/numbers/decimal.hpp>
#include <base/printable.hpp>
#include <loader/options/option_table.hpp>

namespace penstock {
namespace {

constexpr std::string_view kFirst = "What people set first", kOrder = "Order and ranks", kErrors = "Errors",
                           kReading = "Reading", kMemory = "Memory and caches", kWatching = "Watching",
                           kStep = "Your own step", kDevice = "Device";

using L = LoaderOptions;
using Bytes = OptionEntry::Bytes;
using ByHand = OptionEntry::ByHand;

// Python's type of a number for each sample.
constexpr std::string_view kNumbers =
    "str | os.PathLike | collections.abc.Mapping[typing.Any, typing.Any] | collections.abc.Iterable[float] | None";

template <auto Member, auto... Values>
constexpr OptionEntry::Words words() {
  return {
      .get = [](const L& options) { return name(options.*Member); },
      .set = [](L& options,
                std::string_view word) { return ((name(Values) == word && (options.*Member = Values, true)) || ...); },
      .known = [] { return std::vector<std::string_view>{name(Values)...}; }};
}

constexpr auto kOptions = std::to_array<OptionEntry>({
    {kFirst, "batch_size", &L::batch_size, "Rows of a batch.", "Your training decides it."},
    {kFirst, "shuffle", &L::shuffle,
     "A new order in every epoch. The order is a function of seed and epoch: not of workers, packing or timing.",
     "Set it for training."},
    {kFirst, "seed", &L::seed, "Order, crops, flips and every other draw are a function of seed, epoch and sample.",
     "Give each run of an experiment its own seed."},
    {kFirst, "workers", ByHand{"int | str", "0"},
     "Decoding threads. 0: the usable cores (affinity, cgroup quota) divided by the ranks on this machine. \"auto\": "
     "begins with as many, and changes to what keeps the loop from waiting, without a change of bytes.",
     "Give less where your training step computes on the cores. `penstock tune` finds the best number, \"auto\" "
     "follows it while training."},
    {kFirst, "workers_max", ByHand{"int", "0"},
     "More than `workers`: up to so many may be at work, as that brings something; `workers` are the first. 0 with "
     "\"auto\": 4 times the first number, and at least 64. Memory of batches is reserved for so many.",
     "Lower it with \"auto\" where batches are small and memory is scarce."},
    {kFirst, "prefetch", &L::prefetch, "Batches kept ahead of your loop: ready, or (of more than 8 MiB) being filled.",
     "Give more where steps take uneven time or storage is slow. Each costs the memory of one batch."},
    {kFirst, "fields", ByHand{"dict[str, penstock.Chain | penstock.Transform] | None", "None"},
     "A chain for each output, by its name. Without it, every field is an output and its codec decodes it. Fields that "
     "no output names are not read.",
     "Always for training: it says how images are cropped and normalized, and what a label is."},
    {kFirst, "mix", ByHand{"Mix | collections.abc.Sequence[Mix] | None", "None"},
     "mixup() or cutmix(), or a list of which each batch draws one: images and labels of a batch are mixed. Labels "
     "become float32 (rows, classes).",
     "When you train with mixup or cutmix."},
    {kOrder, "last", words<&L::last, Last::keep, Last::drop, Last::pad>(),
     "What becomes of the samples that do not fill a batch at the end of an epoch. \"keep\": the last batch is "
     "shorter; "
     "with several ranks it is padded by repeats, so that all ranks have equally many rows. \"drop\": they are left "
     "out. \"pad\": the batch is filled by repeats. `__valid__` is False for repeats.",
     "\"drop\" for training that needs batches of one size (batch norm, compiled models); \"keep\" or \"pad\" for "
     "evaluation, where every sample counts once."},
    {kOrder, "drop_last", ByHand{"bool", "False"}, "True is last=\"drop\".",
     "Where you are used to the name of PyTorch's DataLoader.", Door::python},
    {kOrder, "rank", ByHand{"int | str", "0"},
     "The number of this process among several. \"env\" takes rank and world from what torchrun, MPI or Slurm set. An "
     "epoch over all ranks delivers every sample once.",
     "In every training of several processes: rank=\"env\"."},
    {kOrder, "world", ByHand{"int | None", "None"}, "How many processes share the epoch.",
     "With a rank that is a number."},
    {kOrder, "subset", &L::subset,
     "The numbers of the samples that an epoch delivers, in their unshuffled order. Without it: all. A sample may "
     "stand "
     "there several times; each time it draws anew.",
     "To split a dataset into training and validation, or to try a program on 100 samples."},
    {kOrder,
     "mixture",
     {},
     "The datasets that are mixed. `Loader(const Mixture&)` sets it; in Python a mixture stands in the dataset's "
     "place.",
     "Never by hand.",
     Door::cpp},
    {kOrder, "shuffle_block", &L::shuffle_block,
     "Permutes blocks of so many samples, and the samples inside 16 blocks at a time. Without it or with 0: a full "
     "shuffle, which warns where it undoes each filtered block many times.",
     "For HDF5 with compressed chunks (give the samples of a chunk), and for disks that are slow at random reads."},
    {kOrder, "shuffle_window", &L::shuffle_window,
     "Shuffles the samples of each window of so many neighbours alone, and leaves the windows in their order. 0: one "
     "window of all.",
     "For a curriculum: a dataset that is sorted, dataset.sort(\"score\"), in an order that is only roughly that."},
    {kOrder, "weights", ByHand{kNumbers, "None"},
     "Draws samples by weight: a number for each sample, the name of a field that holds it, a dict of numbers for each "
     "class ({\"json:weather\": {...}} for another field's values), or a file (.npy, or one number a line). Takes "
     "shuffle.",
     "Where some samples should come more often than others, as chance has it.", Door::python},
    {kOrder, "replacement", ByHand{"bool", "True"},
     "With weights: whether each position draws among all samples anew. False: no sample comes twice in an epoch, and "
     "heavier ones come sooner.",
     "False to visit every sample, the weightier first, or to draw a subset of epoch_samples each epoch.",
     Door::python},
    {kOrder, "repeats", ByHand{kNumbers, "None"},
     "How often each sample comes in an epoch, given as weights are. A fraction is made up of epochs that have it once "
     "more.",
     "Where small classes or good samples should come several times: exact counts, where weights leave them to chance.",
     Door::python},
    {kOrder, "balance", ByHand{"str | None", "None"},
     "A field such as \"cls\": of as many positions as it has values, each gets one, and all of a value's samples come "
     "before one comes again.",
     "For classes of unequal sizes, where each batch should have them all.", Door::python},
    {kOrder, "epoch_samples", ByHand{"int | None", "None"},
     "The length of an epoch of weights, repeats or balance. By default as many as the dataset "
     "has, or the sum of all repeats.",
     "To validate or checkpoint after so many samples.", Door::python},
    {kOrder,
     "draws",
     {},
     "How often samples come: weights, repeats or classes in balance, as drawn_by() and balanced_by() make it "
     "(penstock/loader/choices/draws.hpp). Python has options of their own for these.",
     "As weights, repeats and balance in Python.",
     Door::cpp},
    {kOrder,
     "windows",
     {},
     "Which samples the rows of windows have. A loader whose chains begin with window() makes it itself.",
     "Never by hand.",
     Door::cpp},
    {kOrder, "bucket_by", ByHand{"str | os.PathLike | collections.abc.Iterable[float] | None", "None"},
     "Makes batches of samples of like lengths. \"tokens\", a field: its elements where it is an array, else its "
     "bytes. "
     "\"pixels:jpg\", \"height:jpg\", \"width:jpg\", \"shape:jpg\": of images, by their headers. \"bytes:jpg\": of any "
     "field. \"json:length\": a number in a field. Or one length for each sample: a list, an array or a file.",
     "Where rows are filled up to the longest of their batch (pad()), and lengths differ much.", Door::python},
    {kOrder, "bucket_window", ByHand{"int", "100000"},
     "So many samples that follow each other in the order are sorted by length and cut into batches, which are then "
     "shuffled.",
     "Lower it where the dataset is not many times as large, so that epochs put samples together anew.", Door::python},
    {kOrder, "batch_budget", ByHand{"float | None", "None"},
     "Batches have as many rows as fit: the longest one's length times the rows is at most this, for each rank, and "
     "there are at most batch_size rows. Takes bucket_by, whose lengths it counts.",
     "Where memory bounds a batch, and lengths differ: tokens, pixels or bytes in place of a number of rows.",
     Door::python},
    {kOrder,
     "buckets",
     {},
     "Batches of like lengths, as bucket_by() makes them (penstock/loader/choices/lengths.hpp). Python has options of "
     "their own for these: bucket_by, bucket_window, batch_budget.",
     "As bucket_by in Python.",
     Door::cpp},
    {kErrors, "on_error", words<&L::on_error, OnError::raise, OnError::replace, OnError::mark>(),
     "What becomes of a sample whose bytes are corrupt, unsupported or of the wrong shape. \"raise\": the loop gets an "
     "error that names it. \"replace\": another sample stands in its row. \"mark\": its row is zeros and `__valid__` "
     "is "
     "False.",
     "\"replace\" for long trainings, \"mark\" for evaluation, where no sample may count twice."},
    {kErrors, "max_error_rate", &L::max_error_rate,
     "The share of an epoch's samples that on_error may replace or mark. One more raises. A sample counts once an "
     "epoch. Each of several ranks minds its own share, unless sum_over_ranks is given.",
     "Raise it for data that you know to be worse; 1 never raises."},
    {kErrors, "sum_over_ranks", ByHand{"object | None", "None"},
     "A function of a number that returns its sum over all ranks, such as penstock.torch.sum_over_ranks(). All ranks "
     "then pass max_error_rate at the same batch. It is called behind every 16th batch of an epoch and the last, and "
     "must not use the loader.",
     "In training of several processes with on_error, where one rank alone must not end."},
    {kErrors, "unreadable", &L::unreadable,
     "Keys of samples that the storage does not return (damaged sectors, lost files). They are not read. on_error "
     "must be \"replace\" or \"mark\", and decides about their rows. The order of samples does not change.",
     "When a restored training fails with the same read error again: the message names the key, and the saved state "
     "stays valid."},
    {kErrors, "missing", words<&L::missing, Missing::raise, Missing::exclude, Missing::empty>(),
     "What becomes of a sample that lacks a field which an output reads. \"raise\": making the loader fails and names "
     "it. \"exclude\": epochs leave it out. \"empty\": outputs of raw(), array.decode(ragged=True), boxes() and "
     "key_points(), and what pad(), mask() and "
     "lengths() make of them, have a row without items; other outputs raise.",
     "\"exclude\" for data of which only some samples have masks or captions."},
    {kErrors, "checksums", words<&L::checksums, Checksums::off, Checksums::first, Checksums::always>(),
     "When values are compared with the CRC-32C that pack recorded. \"off\": never. \"first\": when this loader first "
     "reads them. \"always\": each time. A difference is read once more, and then follows on_error.",
     "\"always\" where you doubt the storage; \"off\" where an epoch is over in seconds and its rows need no "
     "decoding."},
    {kErrors, "timeout", ByHand{"float | None", "None"},
     "How long next() waits, in Python in seconds, before it raises and tells what is in flight. By default for ever.",
     "Where storage may hang, and a job that ends is better than one that waits."},
    {kErrors, "classes", ByHand{"collections.abc.Sequence[str] | None", "None"},
     "Names of classes, which must be the dataset's, in this order. Else making the loader fails.",
     "For validation data: ps.Loader(validation, classes=ps.open(training).classes) proves that labels mean the same.",
     Door::python},
    {kReading, "engine",
     words<&L::engine, EngineKind::automatic, EngineKind::io_uring, EngineKind::in_worker, EngineKind::pread,
           EngineKind::gather>(),
     "How bytes are read: \"auto\" (io_uring, else threads), \"io_uring\", \"pread\", \"direct\" or \"gather\". The "
     "batches are the same, and the stats say which one runs and why.",
     "To compare engines in `penstock bench`; hardly ever in a program."},
    {kReading, "direct_io", &L::direct_io, "Reads past the page cache (O_DIRECT), where the file system allows it.",
     "For data larger than memory, so that it does not push everything else out."},
    {kReading, "read_window", Bytes{&L::read_window},
     "Bytes that are read ahead of the workers, by engines that do so.",
     "Raise it where single values are many megabytes, or storage has long delays."},
    {kReading,
     "engine_threads",
     {},
     "Reader threads: rings, or pread threads. 0 chooses: 1 ring, 16 pread threads.",
     "For network file systems that answer slowly, with many requests in flight.",
     Door::cpp},
    {kReading, "engine_depth", {}, "Requests in flight for each ring.", "As engine_threads.", Door::cpp},
    {kReading,
     "merge_gap_bytes",
     {},
     "Extents that lie so close to each other are read as one.",
     "Raise it for storage where each request costs much.",
     Door::cpp},
    {kReading, "merge_bytes", {}, "Such a read stays within this.", "As merge_gap_bytes.", Door::cpp},
    {kMemory, "held", ByHand{"int | None", "None"},
     "Batches that your program may hold at once in memory that is reserved for them. Values of at most 256 bytes a "
     "row "
     "(labels, boxes) are copies and do not count. Python's default, None, is 4.",
     "When your loop keeps more than a few batches; or less, where memory is short."},
    {kMemory, "held_max", ByHand{"int | None", "None"},
     "How many batches your program may hold all the same, in memory that is taken when it comes to that and kept. One "
     "more raises an error. Python's default, None, is held where that is given, else 16; in C++ 0 is as held.",
     "held_max=len(loader) where you want list(loader) and memory has room."},
    {kMemory, "max_items", &L::max_items,
     "Bound of the items that a sample has in a ragged output (of images with sizes of their own: elements). 0: as the "
     "data has.",
     "To reserve memory for ragged rows up front, and to refuse samples that are larger."},
    {kMemory, "block_cache", Bytes{&L::block_cache},
     "Bytes of blocks that are kept undone (chunks of HDF5, compressed shards).",
     "Raise it where the loader warns that a shuffle undoes blocks many times."},
    {kMemory, "cache", words<&L::cache, CacheKind::none, CacheKind::encoded, CacheKind::decoded>(),
     "What is kept of samples for later epochs: \"encoded\" (stored bytes) or \"decoded\" (images as pixels, before "
     "anything is drawn for them). The batches are the same without.",
     "\"decoded\" where the decoded dataset fits into memory; \"encoded\" where storage is slow."},
    {kMemory, "cache_bytes", Bytes{&L::cache_bytes}, "Limit of the cache. What comes when it is full is not kept.",
     "Give the cache the memory that your program leaves."},
    {kMemory, "cache_scope", words<&L::cache_scope, CacheScope::process, CacheScope::node>(),
     "Who shares the cache: \"process\", or \"node\": all processes of a node that read the same samples in the same "
     "way "
     "have one together, of cache_bytes.",
     "\"node\" with several ranks on a machine."},
    {kMemory, "cache_dir", &L::cache_dir,
     "A folder on the node's own disk where bytes of datasets in stores (s3://, https://) are kept, shared by all "
     "processes and jobs that are given it. \"auto\": one under the job's temporary folder. Of local datasets nothing "
     "is kept.",
     "Where an epoch is read from a store more than once."},
    {kMemory, "cache_limit", Bytes{&L::cache_limit},
     "Bytes that the folder may take. 0: what it was made with, or nine tenths of what was free then.",
     "Where others need the disk too."},
    {kWatching, "publish", &L::publish,
     "The loader shows its figures, which are numbers alone, to `penstock top`, in a page of shared memory that your "
     "user "
     "alone can read. PENSTOCK_PUBLISH=0 in the environment turns it off for a whole program.",
     "False where nothing may be written to /dev/shm."},
    {kWatching, "ledger", &L::ledger,
     "A folder in which the loader enters each batch that it gives, so that it survives a kill. `penstock audit` "
     "proves "
     "from it that every sample was delivered once an epoch, across kills, restores and changes of world.",
     "Where it must be certain what a training has seen: one folder for all ranks and all restarts of it."},
    {kStep, "on_batch", ByHand{"object | None", "None"},
     "A function that gets each batch, in order, in one thread ahead of your loop. In Python the loop gets what it "
     "returns; with a second parameter it also gets a numpy Generator, a function of seed, epoch and batch. It must "
     "not "
     "use the loader.",
     "For work on whole batches that must not stand in the training step."},
    {kStep, "on_sample", ByHand{"object | None", "None"},
     "ps.sample(function, outputs): a function that gets several outputs of each sample as NumPy arrays, by keyword, "
     "and returns a dict of what becomes of them. It runs behind the functions in fields, and before on_batch.",
     "For augmentations that change an image with its masks and boxes, such as those of Albumentations.", Door::python},
    {kStep, "python_workers", ByHand{"int", "0"},
     "Processes that run the functions of transform() and sample(), each a row at a time. 0 runs them in one thread of "
     "your program. The batches are the same. on_batch stays in that thread.",
     "Where the stage \"python\" is what the loop waits for: as many as there are cores, less those that decode.",
     Door::python},
    {kStep, "on_batch_stage", {}, "Name of that stage in the stats.", "Hardly ever.", Door::cpp},
    {kDevice, "device", &L::device,
     "\"cuda:0\": batches are copied there ahead of your loop, through page-locked memory. Without it they stay in the "
     "host's memory. \"host\": a processor in a device's place, to try the rest with.",
     "When you train on a GPU."},
    {kDevice,
     "on_device",
     {},
     "A device that the caller has already opened. Overrides `device`.",
     "In tests.",
     Door::cpp},
    {kDevice, "device_prefetch", &L::device_prefetch,
     "Batches ahead of your loop on the device, those on their way included.",
     "Less where the device's memory is short."},
    {kDevice, "where", words<&L::where, Where::automatic, Where::host, Where::device>(),
     "With a device: where the last steps of images (normalize, cast) and of points (center, unit_sphere, rotate, "
     "jitter, cast, ...) are done. \"auto\": on the device, where no more bytes cross. The bytes of batches are the "
     "same.",
     "\"host\" where the GPU has no time to spare."},
    {kDevice, "gpu_direct", &L::gpu_direct,
     "Experimental, no GPU has run it yet. With a device: rows that are stored as they are, of a page or more, are "
     "read "
     "from their files straight into the device's memory (GPUDirect Storage). Otherwise they go through the host, and "
     "the stats say why. Not with on_batch, mix or cache.",
     "For large arrays on NVMe, with a driver that has GPUDirect Storage."},
    {kDevice, "gpu_jpeg", &L::gpu_jpeg,
     "Experimental, no GPU has run it yet. With a device: the share, 0 to 1, of JPEGs that it decodes (nvJPEG), crops, "
     "resizes and flips in the cores' place, drawn for each sample. Its pixels differ from the processor's by a few "
     "levels. Not with on_batch, mix or "
     "cache.",
     "Where the cores are the limit and the GPU has time to spare."},
    {kDevice, "gpu_jpeg_bytes", Bytes{&L::gpu_jpeg_bytes},
     "Experimental, no GPU has run it yet. Memory of the device for images that it decodes.",
     "With gpu_jpeg and large images."},
    {kDevice,
     "on_device_jpeg",
     {},
     "A decoder that the caller has already opened. It is used instead of the device's own.",
     "In tests.",
     Door::cpp},
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
  Text operator()(OptionEntry::Bytes bytes) const { return (*this)(bytes.member); }
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

/// Breaks text into lines of at most 110 characters; all but the first begin with two blanks.
std::string lines_of(std::string_view text) {
  constexpr std::size_t kWidth = 110;
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

std::string keywords_for_python() {
  std::string text;
  for (const OptionEntry& option : kOptions) {
    if (option.door == Door::cpp) continue;
    const auto [type, value] = python_value(option);
    text += (text.empty() ? "" : ", ") + std::string(option.name) + ": " + type + " = " + value;
  }
  return text;
}

std::string options_for_python() {
  std::string text;
  for (const OptionEntry& option : kOptions)
    if (option.door != Door::cpp)
      text += lines_of(std::string(option.name) + ": " + std::string(option.meaning)) + "\n";
  return text;
}

}  // namespace penstock
