#include <string>

#include <formats/encodings.hpp>
#include <loader/work/batch_mixer.hpp>
#include <penstock/error.hpp>
#include <penstock/options.hpp>
#include <transforms/elements.hpp>
#include <transforms/mix.hpp>

namespace penstock {
namespace {

constexpr std::uint32_t kMixStream = 0x313c5;  // a distinct transform number for the draws of a batch
constexpr std::string_view kVersion = "; mix: ";

bool is_image(const Output& output) {
  return output.kind == RowKind::image || output.kind == RowKind::image_channels_last;
}

Size size_of_image(const Output& output) {
  const bool last = output.kind == RowKind::image_channels_last;
  return {output.shape[last ? 1 : 2], output.shape[last ? 0 : 1]};
}

bool has(const std::vector<Mix>& mixes, Mix::Kind kind) {
  for (const Mix& mix : mixes)
    if (mix.kind == kind) return true;
  return false;
}

[[noreturn]] void refuse(const std::string& output, const std::string& cause) {
  throw Error::invalid_argument("mix: output \"" + output + "\" " + cause);
}

}  // namespace

BatchMixer::BatchMixer(std::vector<Mix> mixes, std::span<const Output> outputs)
    : mixes_(std::move(mixes)), outputs_(outputs.begin(), outputs.end()) {
  if (mixes_.empty()) return;
  bool images = false, labels = false;
  for (const Output& output : outputs_) {
    labels |= output.kind == RowKind::classes;
    if (output.fill && (is_image(output) || output.kind == RowKind::classes))
      refuse(output.name, "has a number in missing, and rows without a value cannot be mixed; use missing=\"exclude\"");
    if (output.window != 0) refuse(output.name, "has the steps of a window, which cannot be mixed");
    if (output.kind == RowKind::follower)
      refuse(output.name, "is paired with an image, and boxes and masks of two images cannot be mixed");
    if (!is_image(output)) continue;
    if (output.own_dimensions != 0) refuse(output.name, "has images of different sizes, which cannot be mixed");
    if (is_integer(output.dtype) && has(mixes_, Mix::Kind::mixup))
      refuse(output.name,
             "is " + std::string(name(output.dtype)) + ": mixup() needs image.normalize() or image.cast(\"float32\")");
    if (images && size_of_image(output) != image_ && has(mixes_, Mix::Kind::cutmix))
      refuse(output.name, "has another size than the images before it, so cutmix() cannot cut the same box from both");
    image_ = size_of_image(output);
    images = true;
  }
  if (!images) throw Error::invalid_argument("mix: no output is an image");
  if (!labels) throw Error::invalid_argument("mix: no output is a label()");
}

void BatchMixer::run(Slab& slab, std::uint64_t seed, std::uint64_t position, std::vector<std::byte>& scratch) const {
  slab.mix.reset();
  if (mixes_.empty()) return;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < slab.rows; ++row)
    if (slab.valid[row] != 0) rows.push_back(row);
  if (rows.empty()) return;
  Random random(seed, slab.epoch, position, kMixStream);
  slab.mix = draw_mix(mixes_, image_, random);
  for (std::uint32_t output = 0; output < outputs_.size(); ++output) {
    if (is_image(outputs_[output]) || outputs_[output].kind == RowKind::classes)
      mix(slab, output, *slab.mix, rows, scratch);
  }
}

// From the last row to the first, so that each row's partner is still unmixed. The first row's partner is the last
// row, of which `scratch` has a copy.
void BatchMixer::mix(Slab& slab, std::uint32_t number, const MixDraw& draw, std::span<const std::uint32_t> rows,
                     std::vector<std::byte>& scratch) const {
  const Output& output = outputs_[number];
  const std::span<const std::byte> last = slab.row(number, rows.back());
  scratch.assign(last.begin(), last.end());
  for (std::size_t i = rows.size(); i-- > 0;) {
    const std::span<std::byte> row = slab.row(number, rows[i]);
    const std::byte* other = i == 0 ? scratch.data() : slab.row(number, rows[i - 1]).data();
    if (is_image(output) && draw.kind == Mix::Kind::cutmix) {
      paste_box({row.data(), output.dtype, output.shape}, other, draw.box, output.kind == RowKind::image_channels_last);
    } else {
      mix_rows(row.data(), other, output.dtype, row.size() / size_of(output.dtype), draw.lambda);
    }
  }
}

void ask_for_classes(LoaderOptions& options, std::span<const FieldSchema> fields) {
  if (options.mix.empty()) return;
  for (const Mix& mix : options.mix) {
    check(mix);
    if (mix.num_classes != options.mix.front().num_classes)
      throw Error::invalid_argument("mix: " + to_string(mix) + " and " + to_string(options.mix.front()) +
                                    " have different numbers of classes");
  }
  if (options.transforms.empty())
    for (const FieldSchema& field : fields) options.transforms.emplace_back(field.name, Chain{});
  for (auto& [output, chain] : options.transforms) {
    const std::string& source = chain.sources.empty() ? output : chain.sources.front();
    if (chain.steps.empty() && !chain.followed) {
      for (const FieldSchema& field : fields)
        if (field.name == source && codec_traits(field.codec).label) chain.steps.emplace_back(step::Label{});
    }
    const auto* label = chain.steps.empty() ? nullptr : chain.steps.front().as<step::Label>();
    if (label == nullptr) continue;
    if (label->num_classes != 0 && label->num_classes != options.mix.front().num_classes)
      refuse(output, "has " + std::to_string(label->num_classes) + " classes, but the mix has " +
                         to_string(options.mix.front()));
    chain.steps.front() = step::Label{.num_classes = options.mix.front().num_classes};
  }
}

std::uint32_t partner_of(std::span<const std::uint8_t> valid, std::uint32_t row) {
  const auto rows = static_cast<std::uint32_t>(valid.size());
  for (std::uint32_t back = 1; back <= rows; ++back) {
    const std::uint32_t partner = (row + rows - back) % rows;
    if (valid[partner] != 0) return partner;
  }
  return row;
}

std::string version_of(std::span<const Mix> mixes) {
  std::string text;
  for (const Mix& mix : mixes) text += (text.empty() ? std::string(kVersion) : ", ") + to_string(mix);
  return text;
}

std::vector<Mix> mixes_of(std::string_view version) {
  std::vector<Mix> mixes;
  const std::size_t begin = version.find(kVersion);
  if (begin == std::string_view::npos) return mixes;
  std::string_view rest = version.substr(begin + kVersion.size());
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(')'), rest.size() - 1) + 1;
    mixes.push_back(parse_mix(rest.substr(0, end)));
    rest.remove_prefix(end);
    if (rest.starts_with(", ")) rest.remove_prefix(2);
  }
  return mixes;
}

}  // namespace penstock
