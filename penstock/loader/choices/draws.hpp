// Makes draws of numbers that a program has, or that a field of each sample says.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <penstock/formats/dataset.hpp>
#include <penstock/order/draws/draws.hpp>

namespace penstock {

/// Draws::Kind::weighted, `once` or `repeated` of one number for each sample. The numbers are looked at when a loader
/// is made.
Draws drawn_by(Draws::Kind kind, std::span<const double> numbers, std::uint64_t samples = 0);
/// The same of a field that holds a number ("weight", "json:weight"; see Column). Throws Error: invalid_argument, where
/// the field or a sample's value is not there; corrupt, naming the sample, for what is no finite number; what reading
/// and `tick` throw.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// The same of a number for each value of a field; "cls" also by the names of classes. Throws the same; Error:
/// invalid_argument, naming the first sample whose value has none, and for a name that is no class.
Draws drawn_by(Draws::Kind kind, const Dataset& dataset, std::string_view column,
               const std::map<std::string, double>& number_of_value, std::uint64_t samples = 0,
               const std::function<void()>& tick = {});
/// Draws::Kind::balanced: the values of the field are the classes, in the order of their lengths, and of equally long
/// ones of their bytes. Throws the same.
Draws balanced_by(const Dataset& dataset, std::string_view column, std::uint64_t samples = 0,
                  const std::function<void()>& tick = {});

}  // namespace penstock
