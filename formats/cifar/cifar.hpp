// Reads the batches of CIFAR-10 and CIFAR-100 ("python version") in place.
#pragma once

#include <formats/format.hpp>

namespace penstock {

/// A shard is a pickle of a dict, without extension: data_batch_1, ..., test_batch (CIFAR-10); train, test (CIFAR-100).
/// A folder of shards is a dataset. split_in_name() assigns data_batch_N to "train".
///
/// data: uint8 (N, 3072), the red, green and blue plane of 32 x 32 pixels. Field `image`: raw uint8 (32, 32, 3).
/// labels, or fine_labels: N integers. Field `cls`.
/// coarse_labels, if present: N integers. Field `coarse.cls`.
/// The key is SHARD/NUMBER. The classes are label_names, or fine_label_names, of batches.meta, or meta, beside the
/// shard. Other members are listed under "left_out" in the attributes.
///
/// index() throws Error, with the offset if there is one: io; corrupt; unsupported. Unsupported are pickles of other
/// than plain data (text/pickle.hpp), and pixels in Fortran order or in protocols 0 to 2 of Python 3.
///
/// Source: https://www.cs.toronto.edu/~kriz/cifar.html, "Python / Matlab versions".
extern const Format kCifar;

}  // namespace penstock
