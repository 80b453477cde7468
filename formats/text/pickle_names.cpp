#include <algorithm>
#include <array>
#include <string>

#include <base/printable.hpp>
#include <formats/text/pickle_names.hpp>
#include <penstock/error.hpp>

namespace penstock {
namespace {

struct KnownName {
  std::string_view module, name;
  PickleName meaning;
};

constexpr std::array kNames{
    KnownName{"numpy.core.multiarray", "_reconstruct", PickleName::array},
    KnownName{"numpy._core.multiarray", "_reconstruct", PickleName::array},  // NumPy 2
    KnownName{"numpy.core.multiarray", "scalar", PickleName::scalar},
    KnownName{"numpy._core.multiarray", "scalar", PickleName::scalar},
    KnownName{"numpy.core.numeric", "_frombuffer", PickleName::buffer},  // protocol 5
    KnownName{"numpy._core.numeric", "_frombuffer", PickleName::buffer},
    KnownName{"numpy", "ndarray", PickleName::ndarray},
    KnownName{"numpy", "dtype", PickleName::dtype},
    KnownName{"_codecs", "encode", PickleName::encode},  // bytes in protocols 0 to 2
    KnownName{"collections", "OrderedDict", PickleName::dict},
    KnownName{"collections", "Counter", PickleName::dict},
    KnownName{"collections", "defaultdict", PickleName::defaults},
    KnownName{"builtins", "set", PickleName::list},
    KnownName{"builtins", "frozenset", PickleName::list},
    KnownName{"builtins", "list", PickleName::list},
    KnownName{"builtins", "tuple", PickleName::list},
    KnownName{"builtins", "dict", PickleName::dict},
    KnownName{"builtins", "bytes", PickleName::bytes},
    KnownName{"builtins", "bytearray", PickleName::bytes},
    KnownName{"builtins", "int", PickleName::type},
    KnownName{"builtins", "long", PickleName::type},  // Python 2
    KnownName{"builtins", "float", PickleName::type},
    KnownName{"builtins", "str", PickleName::type},
    KnownName{"builtins", "unicode", PickleName::type},
    KnownName{"builtins", "bool", PickleName::type},
};

}  // namespace

PickleName pickle_name(std::string_view module, std::string_view name) {
  const std::string_view place = module == "__builtin__" ? "builtins" : module;  // as Python 2 calls it
  const auto* known =
      std::ranges::find_if(kNames, [&](const KnownName& one) { return one.module == place && one.name == name; });
  if (known == kNames.end()) refuse_pickle_name(module, name);
  return known->meaning;
}

void refuse_pickle_name(std::string_view module, std::string_view name) {
  const std::string_view remedy = module.starts_with("pandas.")  ? "save the table with to_csv()"
                                  : module.starts_with("torch.") ? kSaveTensors
                                                                 : kSavePlainData;
  throw Error::unsupported("needs " + double_quoted(std::string(module) + "." + std::string(name)) +
                           ", which is not plain data and is not loaded: " + std::string(remedy));
}

}  // namespace penstock
