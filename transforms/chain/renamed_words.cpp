#include <algorithm>
#include <cstdint>

#include <transforms/chain/renamed_words.hpp>

namespace penstock {
namespace {

struct RenamedStep {
  std::string_view old, present;
};

struct RenamedParameter {
  std::string_view step;  ///< current name of the step
  std::string_view old, present;
};

// docs/renames.tsv contains the same list.
constexpr RenamedStep kSteps[] = {
    {"image.random_flip", "image.random_horizontal_flip"},
    {"key_points", "keypoints"},
    {"mask", "valid_mask"},
    {"inside", "window_valid"},
    {"points.mask", "points.valid_mask"},
    {"points.rotate", "points.random_rotate"},
    {"points.jitter", "points.random_jitter"},
    {"points.shift", "points.random_shift"},
    {"points.dropout", "points.random_dropout"},
    {"points.shuffle", "points.random_shuffle"},
    {"points.finite", "points.drop_nonfinite"},
    {"array.random_window", "array.random_slice"},
};

constexpr RenamedParameter kParameters[] = {
    {"image.normalize", "stddev", "std"},
    {"image.gaussian_blur", "kernel", "kernel_size"},
    {"label", "classes", "num_classes"},
    {"mixup", "classes", "num_classes"},
    {"cutmix", "classes", "num_classes"},
    {"points.sample", "few", "if_fewer"},
    {"points.random_dropout", "most", "max_ratio"},
};

bool is_of_word(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') || byte == '_' ||
         byte == '.';
}

}  // namespace

std::string_view present_step(std::string_view old) {
  const auto* found = std::ranges::find(kSteps, old, &RenamedStep::old);
  return found == std::ranges::end(kSteps) ? std::string_view() : found->present;
}

std::string_view present_parameter(std::string_view step, std::string_view old) {
  for (const RenamedParameter& each : kParameters) {
    if (each.step == step && each.old == old) return each.present;
  }
  return {};
}

std::string in_present_words(std::string_view saved) {
  std::string text;
  std::string_view step;  // name of the step whose brackets contain the word
  for (std::size_t at = 0; at < saved.size();) {
    // Quoted texts are names of fields and regular expressions, so they stay as they are.
    if (saved[at] == '"' || saved[at] == '\'') {
      const std::size_t end = std::min(saved.find(saved[at], at + 1), saved.size() - 1);
      text += saved.substr(at, end + 1 - at);
      at = end + 1;
      continue;
    }
    if (!is_of_word(saved[at])) {
      text += saved[at++];
      continue;
    }
    std::size_t end = at;
    while (end < saved.size() && is_of_word(saved[end])) ++end;
    const std::string_view word = saved.substr(at, end - at);
    const char next = end < saved.size() ? saved[end] : '\0';
    std::string_view present = word;
    if (next == '(') {
      if (const std::string_view found = present_step(word); !found.empty()) present = found;
      step = present;
    } else if (next == '=') {
      if (const std::string_view found = present_parameter(step, word); !found.empty()) present = found;
    }
    text += present;
    at = end;
  }
  return text;
}

}  // namespace penstock
