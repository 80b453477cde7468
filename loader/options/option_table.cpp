#include <algorithm>
#include <array>

#include <loader/options/option_table.hpp>

namespace penstock {
namespace {

constexpr std::string_view kFirst = "Options that most people set", kOrder = "Order and ranks",
                           kErrors = "Errors and data", kMachine = "Machine", kOwn = "Your own code and logs",
                           kCache = "CacheOptions", kDisk = "DiskCacheOptions", kRead = "ReadOptions",
                           kMemory = "MemoryOptions", kDevice = "DeviceOptions", kSharing = "SharingOptions",
                           kServers = "ServersOptions", kCpp = "C++ only";

using L = LoaderOptions;
using Bytes = LoaderOption::Bytes;
using ByHand = LoaderOption::ByHand;
using option::in;
using option::Words;

constexpr auto kOptions = std::to_array<LoaderOption>({
    {kFirst, "batch_size", in<&L::batch_size>(), "Samples in a batch.", "Your training decides it."},
    {kFirst, "shuffle", ByHand{"bool | penstock.shuffle.Shuffle", "False"},
     "True, or in parts: ps.shuffle.blocks(16), ps.shuffle.window(4096). Every epoch has another "
     "order. True permutes all samples. blocks(n) permutes blocks of n neighbouring samples, and so needs fewer reads. "
     "window(n) shuffles the samples of each window of n neighbours.",
     "Set it for training."},
    {kFirst, "transforms", ByHand{"dict[str, penstock.Chain | penstock.Transform] | None", "None"},
     "Chains by output: {\"jpg\": ps.image.resize(256) | ps.image.center_crop(224)}. A chain reads the field with the "
     "name of its output, or begins with ps.field(\"png\"). None: every stored field, decoded.",
     "Always for training, to crop and normalize images and to choose the labels."},
    {kFirst, "drop_last", ByHand{"bool", "False"}, "True is last_batch=\"drop\", as in torch's DataLoader.",
     "For training that needs batches of one size.", Door::python},
    {kFirst, "seed", in<&L::seed>(),
     "Seed of the order and of all random transforms. They are a function of seed, epoch and sample.",
     "Give each run of an experiment its own seed."},
    {kFirst, "workers", ByHand{"int | str | None", "None"},
     "Decoding threads: a number, \"auto\", or None for all usable cores. None divides the cores by the ranks of this "
     "machine. \"auto\" adjusts the number while the loop runs.",
     "Give less if your training step computes on the cores. `penstock tune` finds the best number."},
    {kFirst, "max_workers", ByHand{"int | None", "None"},
     "Upper limit of workers=\"auto\". None: 4 times as many as at the start, at least 64.",
     "Lower it if memory is scarce: the loader reserves batch buffers for max_workers."},
    {kFirst, "prefetch", in<&L::prefetch>(), "Batches that are ready ahead of your loop.",
     "Raise it if steps take uneven time or storage is slow. Each costs the memory of one batch."},

    {kOrder, "rank", ByHand{"int | str", "0"},
     "Number of this process; \"env\" takes rank and world_size from torchrun, MPI or Slurm.",
     "In every training of several processes: rank=\"env\"."},
    {kOrder, "world_size", ByHand{"int | None", "None"}, "Number of processes that share an epoch.",
     "With a rank that is a number."},
    {kOrder, "sampler", ByHand{"object | None", "None"},
     "ps.sampler.weighted(w, num_samples=n), .repeated(r), .balanced(\"cls\"), or torch's. The sampler decides which "
     "samples an epoch has, and how often. In C++, drawn_by() and balanced_by() make one (penstock/sampling.hpp).",
     "If classes differ in size, or some samples should come more often."},
    {kOrder, "batching", ByHand{"penstock.batching.Batching | None", "None"},
     "Batches of similar lengths: ps.batching.by_length(\"tokens\", budget=16384). A batch has as many rows as the "
     "budget allows, padding included. Without a budget it has batch_size rows. In C++, bucket_by() makes one "
     "(penstock/sampling.hpp).",
     "If rows are padded to the longest of their batch, and lengths differ much."},
    {kOrder, "mix", ByHand{"Mix | collections.abc.Sequence[Mix] | None", "None"},
     "ps.mixup(0.2, num_classes=10), ps.cutmix(num_classes=10), or a list of them. Each batch draws one of the list. "
     "Labels become float32.",
     "If you train with mixup or cutmix."},
    {kOrder, "last_batch", Words<&L::last_batch>::of<Last::keep, Last::drop, Last::pad>(),
     "\"keep\", \"drop\" or \"pad\" the incomplete last batch of an epoch. \"keep\" delivers it shorter; with several "
     "ranks, repeated samples fill it, so that all ranks have equally many rows. \"pad\" always fills it. __valid__ is "
     "False for repeats.",
     "\"drop\" for training that needs batches of one size (batch norm, compiled models); \"keep\" or \"pad\" for "
     "evaluation, which needs every sample once."},

    {kErrors, "on_error", Words<&L::on_error>::of<OnError::raise, OnError::replace, OnError::mark>(),
     "For an invalid sample: \"raise\", \"replace\" it by another, or \"mark\" its row. The error names the sample. "
     "\"replace\" puts another sample in its place. \"mark\" delivers a row of zeros, whose __valid__ is False.",
     "\"replace\" for long trainings; \"mark\" for evaluation, which may count no sample twice."},
    {kErrors, "max_errors", ByHand{"int | float", "0.05"},
     "Most invalid samples in an epoch: a count (10), or a share (0.05). One more raises. The limit counts for "
     "on_error=\"replace\" and \"mark\". Each rank counts its own samples, unless all_reduce is given.",
     "Raise it for data that you know to be worse; 1.0 never raises.", Door::python},
    {kErrors, "missing", ByHand{"str | int | float | collections.abc.Mapping[str, str | int | float]", "'raise'"},
     "For samples without a field: \"raise\", \"exclude\", \"empty\", a number, or a dict. \"raise\": Loader() fails. "
     "\"exclude\": epochs leave the sample out. \"empty\": its row of a ragged output has no items. A number fills the "
     "row "
     "after all transforms. The keys of the dict are outputs: {\"mask\": 255, \"cls\": -100}. Its key \"*\" is for the "
     "others, which else raise. For each output with a number or \"empty\", batch[\"__present__\"][output] is a bool "
     "Tensor "
     "(rows,): False for rows without the sample's value.",
     "\"exclude\" if only some samples have masks or captions. A number to train on the others too, with a loss that "
     "ignores the number, or with __present__."},
    {kErrors, "timeout", ByHand{"float | None", "None"},
     "Seconds to wait for a batch before an error; None waits for ever. The error reports what is in flight.",
     "If storage may hang, and a job should rather end than wait."},
    {kErrors, "checksums", Words<&L::checksums>::of<Checksums::off, Checksums::first, Checksums::always>(),
     "\"off\", \"first\" or \"always\": which reads to verify with a CRC-32C. \"first\" is the first read of a value "
     "by this loader.",
     "\"always\" if you do not trust the storage; \"off\" if an epoch takes seconds and its rows need no decoding."},
    {kErrors, "expect_classes", ByHand{"collections.abc.Sequence[str] | None", "None"},
     "Class names that the dataset must have, in this order. Otherwise Loader() fails.",
     "For validation data: expect_classes=ps.open(training).classes checks that labels mean the same.", Door::python},

    {kMachine, "device", ByHand{"object | None", "None"},
     "\"cuda:0\" or a torch.device, to which batches are copied ahead of your loop. None: they stay on the host.",
     "If you train on a GPU."},
    {kMachine, "device_options", ByHand{"DeviceOptions | None", "None"},
     "ps.DeviceOptions(prefetch=3, gpu_jpeg=0.5): batches and JPEGs on the GPU.", "To decode JPEGs on the GPU.",
     Door::python},
    {kMachine, "cache", ByHand{"str | CacheOptions | None", "None"},
     "Samples in memory: \"encoded\", \"decoded\", ps.CacheOptions(\"decoded\", limit=\"8GiB\"). \"encoded\" keeps "
     "stored bytes, \"decoded\" keeps images as pixels before random transforms.",
     "\"decoded\" if the decoded dataset fits into memory; \"encoded\" if storage is slow.", Door::python},
    {kMachine, "disk_cache", ByHand{"str | os.PathLike | DiskCacheOptions | None", "None"},
     "A local folder, or \"auto\", that keeps bytes of datasets in object stores. \"auto\" is in the job's temporary "
     "folder.",
     "If a training reads data from a store more than once.", Door::python},
    {kMachine, "read_options", ByHand{"ReadOptions | None", "None"},
     "ps.ReadOptions(engine=\"pread\", direct_io=True, read_ahead_bytes=\"1GiB\").",
     "Hardly ever; `penstock bench` compares engines.", Door::python},
    {kMachine, "memory_options", ByHand{"MemoryOptions | None", "None"},
     "ps.MemoryOptions(max_live_batches=64): batches that you may keep. Also the memory for decompressed blocks.",
     "If your loop keeps many batches, or memory is short.", Door::python},

    {kMachine, "sharing", ByHand{"str | SharingOptions | None", "None"},
     "A name: loaders with it build each batch once for all. They may be in several processes of this machine. "
     "ps.SharingOptions(\"search\", consumers=8) has more.",
     "If several trainings on a machine use the same batches, as in a search for hyper-parameters.", Door::python},

    {kMachine, "servers", ByHand{"collections.abc.Sequence[str] | ServersOptions | None", "None"},
     "Addresses of `penstock serve` on other machines, [\"node7:7710\"]. Their cores fill the batches. If none "
     "answers, "
     "this loader does. PENSTOCK_TOKEN must be the same for all.",
     "If the GPU waits for the cores of its node, and your job can have nodes without GPUs.", Door::python},

    {kOwn, "sample_transform", ByHand{"object | None", "None"},
     "ps.sample_transform(function, outputs): your function of several outputs. The function gets NumPy arrays, and "
     "returns a dict of new values.",
     "For augmentations that change an image with its masks and boxes, such as those of Albumentations.", Door::python},
    {kOwn, "batch_transform", ByHand{"object | None", "None"},
     "Your function of each batch; the loop gets its result. The function runs in order, in one thread ahead of your "
     "loop. A second parameter gets a numpy Generator. Do not use the loader in it.",
     "For work on whole batches that must not slow down the training step."},
    {kOwn, "python_workers", ByHand{"int", "0"},
     "Processes for ps.transform() and ps.sample_transform() functions. 0 runs them in one thread of this "
     "process. batch_transform always runs in that thread.",
     "If the loop waits for the stage \"custom_transform\": as many as there are cores, less those that decode.",
     Door::python},
    {kOwn, "delivery_log", in<&L::delivery_log>(),
     "Folder for a record of every delivered batch, which `penstock audit` checks.",
     "If you must know what a training has seen: one folder for all its ranks and restarts."},
    {kOwn, "publish", in<&L::publish>(),
     "Shows live metrics to `penstock top`. PENSTOCK_PUBLISH=0 turns it off for a whole program.",
     "False if nothing may be written to /dev/shm."},
    {kOwn, "all_reduce", ByHand{"object | None", "None"},
     "Your function that sums a number over all ranks: max_errors then counts on all. All ranks then stop at the same "
     "batch. The function must not use the loader.",
     "In training of several processes with on_error, where all ranks must end together. ps.torch.Loader sets it."},

    {kCache, "cache.kind",
     Words<&L::cache, &CacheOptions::kind>::of<CacheKind::none, CacheKind::encoded, CacheKind::decoded>(),
     "Form of the samples in the cache: \"encoded\" (stored bytes) or \"decoded\" (images as pixels, before random "
     "transforms). Batches are the same without a cache.",
     "\"decoded\" if the decoded dataset fits into memory; \"encoded\" if storage is slow."},
    {kCache, "cache.limit", Bytes{in<&L::cache, &CacheOptions::limit>()},
     "Limit in bytes. A full cache keeps what it has, and nothing new.",
     "Give the cache the memory that your program leaves."},
    {kCache, "cache.shared", Words<&L::cache, &CacheOptions::shared>::of<CacheScope::process, CacheScope::node>(),
     "Scope of the cache: this \"process\", or all processes of a \"node\" that read the same samples in the same "
     "way.",
     "\"node\" with several ranks on a machine."},
    {kDisk, "disk_cache.path", in<&L::disk_cache, &DiskCacheOptions::path>(),
     "A folder on a local disk that keeps bytes of datasets in object stores (s3://, https://). All processes and jobs "
     "that name it share it. \"auto\": one under the job's temporary folder. Local datasets are not kept.",
     "If a training reads data from a store more than once."},
    {kDisk, "disk_cache.limit", Bytes{in<&L::disk_cache, &DiskCacheOptions::limit>()},
     "Limit in bytes. 0: the limit with which the folder was made, or nine tenths of the space that was free then.",
     "If others need the disk too."},
    {kRead, "read_options.engine",
     Words<&L::read_options, &ReadOptions::engine>::of<EngineKind::automatic, EngineKind::io_uring,
                                                       EngineKind::in_worker, EngineKind::pread, EngineKind::mmap>(),
     "How bytes are read: \"auto\" (io_uring, else threads), \"io_uring\", \"pread\", \"inline\" or \"mmap\". "
     "Batches are the same, and stats() says which one runs and why.",
     "To compare engines in `penstock bench`; hardly ever in a program."},
    {kRead, "read_options.direct_io", in<&L::read_options, &ReadOptions::direct_io>(),
     "Reads past the page cache (O_DIRECT), if the file system supports it.",
     "For data larger than memory, so that it does not push everything else out."},
    {kRead, "read_options.read_ahead_bytes", Bytes{in<&L::read_options, &ReadOptions::read_ahead_bytes>()},
     "Bytes that are read ahead of the workers.",
     "Raise it if single values are many megabytes, or storage has long delays."},
    {kRead, "read_options.unreadable", in<&L::read_options, &ReadOptions::unreadable>(),
     "Keys of samples that the storage does not return (damaged sectors, lost files). The loader does not read them, "
     "and treats them as invalid: on_error must be \"replace\" or \"mark\". The order of samples does not change.",
     "When a restored training fails with the same read error again: the message names the key, and the saved state "
     "stays valid."},
    {kMemory, "memory_options.reserved_batches", ByHand{"int | None", "None"},
     "Batches that your program may hold at once in memory that is reserved for them. None: 4. Values of at most 256 "
     "bytes a row (labels, boxes) are copies and do not count.",
     "If your loop keeps more than a few batches; or less, if memory is short."},
    {kMemory, "memory_options.max_live_batches", ByHand{"int | None", "None"},
     "Batches that your program may hold at most. The loader allocates memory beyond reserved_batches on demand and "
     "keeps it. One more raises an error. None: reserved_batches if that is given, else 16.",
     "max_live_batches=len(loader) if you want list(loader) and memory has room."},
    {kMemory, "memory_options.max_items", in<&L::memory_options, &MemoryOptions::max_items>(),
     "Largest number of items that a sample may have in a ragged output (of images of different sizes: elements). 0: "
     "as the data has.",
     "To reserve memory for ragged rows up front, and to refuse samples that are larger."},
    {kMemory, "memory_options.block_cache_bytes", Bytes{in<&L::memory_options, &MemoryOptions::block_cache_bytes>()},
     "Memory for decompressed blocks (HDF5 chunks, compressed shards).",
     "Raise it if the loader warns that a shuffle decompresses blocks many times."},
    {kSharing, "sharing.name", in<&L::sharing, &SharingOptions::name>(),
     "Loaders of this user with this name share batches. They must have the same dataset, seed, transforms, batch size "
     "and rank. Their Python functions may differ, because each loader runs its own.",
     "One name for each stream of batches."},
    {kSharing, "sharing.consumers", in<&L::sharing, &SharingOptions::consumers>(),
     "Loaders that the first batch waits for, at most `patience` long. A loader that comes later begins with the batch "
     "that the slowest one needs next.",
     "The number of your trainings, so that all begin at the same batch."},
    {kSharing, "sharing.lag", in<&L::sharing, &SharingOptions::lag>(),
     "Batches that the fastest loader may be ahead of the slowest. Each costs the memory of two batches.",
     "Raise it if the steps of your trainings take uneven time."},
    {kSharing, "sharing.behind", Words<&L::sharing, &SharingOptions::behind>::of<Behind::wait, Behind::build>(),
     "For a loader that is `lag` batches behind: {words}. \"wait\": the others wait for it. \"build\": it builds the "
     "batches itself that the others have passed.",
     "\"build\" if no training may slow down another one."},
    {kSharing, "sharing.patience", in<&L::sharing, &SharingOptions::patience>(),
     "Seconds that the others wait for a loader that takes no batch, and that a loader waits for the process that "
     "builds. Then they continue, with the same bytes.",
     "Raise it above the time of your validation."},

    {kServers, "servers.addresses", in<&L::servers, &ServersOptions::addresses>(),
     "HOST:PORT of each server. The servers have the dataset under any path; their penstock has the same version.",
     "All nodes of the job that have cores to spare."},
    {kServers, "servers.token", in<&L::servers, &ServersOptions::token>(),
     "A secret of the job, which is never sent: at least 16 characters. \"\": PENSTOCK_TOKEN in the environment.",
     "If the environment cannot contain it."},
    {kServers, "servers.patience", in<&L::servers, &ServersOptions::patience>(),
     "Seconds to wait for a server, at the beginning and for each answer. Then others fill the batch.",
     "Raise it if a batch takes long, or servers start late."},

    {kDevice, "device_options.finish_on",
     Words<&L::device_options, &DeviceOptions::finish_on>::of<FinishOn::automatic, FinishOn::host, FinishOn::device>(),
     "Where the last transforms of images (normalize, cast) and of points run: \"auto\", \"host\" or \"device\". "
     "\"auto\" is the device, unless that copies more bytes. Batches are the same.",
     "\"host\" if the GPU has no time to spare."},
    {kDevice, "device_options.prefetch", in<&L::device_options, &DeviceOptions::prefetch>(),
     "Batches on the device ahead of your loop, including those that are being copied.",
     "Less if the device's memory is short."},
    {kDevice, "device_options.gpu_jpeg", in<&L::device_options, &DeviceOptions::gpu_jpeg>(),
     "Share, 0 to 1, of the JPEGs that the GPU decodes (nvJPEG), crops, resizes and flips. Its pixels differ from the "
     "processor's by a few levels. Not with batch_transform, mix or cache.",
     "If the cores are the limit and the GPU has time to spare."},
    {kDevice, "device_options.gpu_jpeg_bytes", Bytes{in<&L::device_options, &DeviceOptions::gpu_jpeg_bytes>()},
     "Bytes of device memory for images that it decodes.", "With gpu_jpeg and large images."},
    {kDevice, "device_options.gpu_direct", in<&L::device_options, &DeviceOptions::gpu_direct>(),
     "Experimental, no GPU has run it yet. Reads rows that are stored as they are, of a page or more, from their files "
     "straight into the device's memory (GPUDirect Storage). Other rows go through the host, and stats() says why. Not "
     "with batch_transform, mix or cache.",
     "For large arrays on NVMe, with a driver that has GPUDirect Storage."},

    {kCpp, "max_error_rate", {}, "Python's max_errors as a share of an epoch's samples.", "As max_errors.", Door::cpp},
    {kCpp, "max_error_count", {}, "Python's max_errors as a count.", "As max_errors.", Door::cpp},
    {kCpp, "missing_by_output", {}, "Python's dict in missing, without \"*\".", "As missing.", Door::cpp},
    {kCpp, "shuffle_block", in<&L::shuffle_block>(),
     "Permutes blocks of this many samples, and the samples inside 16 blocks at a time. Python: ps.shuffle.blocks(n).",
     "For HDF5 with compressed chunks (give the samples of a chunk), and for disks with slow random reads.", Door::cpp},
    {kCpp, "shuffle_window", in<&L::shuffle_window>(),
     "Shuffles the samples of each window of this many neighbours. Python: ps.shuffle.window(n).", "For a curriculum.",
     Door::cpp},
    {kCpp, "subset", in<&L::subset>(),
     "The numbers of the samples that an epoch delivers, in their unshuffled order. Python: ps.sampler.subset().",
     "To try a program on 100 samples.", Door::cpp},
    {kCpp, "mixture", {}, "The datasets that are mixed. Loader(const Mixture&) sets it.", "Never by hand.", Door::cpp},
    {kCpp,
     "windows",
     {},
     "The samples of the rows of windows. A loader whose chains begin with window() sets it.",
     "Never by hand.",
     Door::cpp},
    {kCpp,
     "read_options.threads",
     {},
     "Reader threads: rings, or pread threads. 0 chooses: 1 ring, 16 pread threads, 64 for network file systems.",
     "For network file systems that answer slowly, with many requests in flight.",
     Door::cpp},
    {kCpp, "read_options.depth", {}, "Requests in flight for each ring.", "As read_options.threads.", Door::cpp},
    {kCpp,
     "read_options.merge_gap_bytes",
     {},
     "Reads separated by at most this many bytes are merged.",
     "Raise it for storage with expensive requests.",
     Door::cpp},
    {kCpp, "read_options.merge_bytes", {}, "Maximum size of a merged read.", "As merge_gap_bytes.", Door::cpp},
    {kCpp,
     "sharing.recipe",
     {},
     "The arguments that another process needs to join. Python: ps.share() sets it.",
     "For your own attach().",
     Door::cpp},
    {kCpp, "device_options.opened", {}, "An open device, used instead of `device`.", "In tests.", Door::cpp},
    {kCpp,
     "device_options.jpeg_decoder",
     {},
     "An open decoder, used instead of the device's own.",
     "In tests.",
     Door::cpp},
});

}  // namespace

std::span<const LoaderOption> loader_options() {
  return kOptions;
}

const LoaderOption& loader_option(std::string_view name) {
  return *std::ranges::find(kOptions, name, &LoaderOption::name);
}

std::vector<const LoaderOption*> options_of_python(std::string_view object) {
  std::vector<const LoaderOption*> options;
  for (const LoaderOption& option : kOptions) {
    if (option.door != Door::cpp && option.object() == object) options.push_back(&option);
  }
  return options;
}

std::string options_for_python(std::string_view object) {
  std::string text;
  std::string_view group;
  for (const LoaderOption* option : options_of_python(object)) {
    if (object.empty() && option->group != group) text += std::string(option->group) + "\n";
    group = option->group;
    const std::string_view told = object.empty() ? first_sentence(option->meaning) : option->meaning;
    text += help_entry(option->keyword(), told);
  }
  return text;
}

PythonValue python_value(const LoaderOption& option) {
  return std::visit(InPython<LoaderOptions>{}, option.member);
}

std::string flag_of(const LoaderOption& option) {
  std::string flag(option.keyword());
  if (option.object() == "cache") flag = flag == "kind" ? "cache" : "cache-" + flag;
  if (option.object() == "disk_cache") flag = flag == "path" ? "disk-cache" : "disk-cache-" + flag;
  if (option.name == "device_options.prefetch") flag = "device-prefetch";
  return flag_of_keyword(flag);
}

}  // namespace penstock
