// The names that pickles may use. Private to pickle.cpp.
#pragma once

#include <cstdint>
#include <string_view>

namespace penstock {

/// Each name is a word of the reader, and never a function of Python.
enum class PickleName : std::uint8_t {
  array,    ///< _reconstruct: an array, which BUILD fills
  scalar,   ///< an element of a dtype
  buffer,   ///< _frombuffer: an array of bytes
  ndarray,  ///< an argument of `array`
  dtype,
  encode,  ///< bytes from a text
  dict,
  defaults,  ///< defaultdict; its first argument makes missing values
  list,      ///< also tuple, set
  bytes,
  type,  ///< int, str: arguments of `defaults`
};

/// Throws Error: unsupported, with the name and a remedy, if it is not in the list.
PickleName pickle_name(std::string_view module, std::string_view name);
[[noreturn]] void refuse_pickle_name(std::string_view module, std::string_view name);

// Remedies in messages.
inline constexpr std::string_view kSavePlainData =
    "load it in Python, and save dicts, lists, numbers, texts and NumPy arrays, or a CSV file";
inline constexpr std::string_view kSaveTensors = "save tensors as NumPy arrays: tensor.numpy()";

}  // namespace penstock
