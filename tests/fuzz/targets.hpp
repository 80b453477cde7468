// Declares the fuzz targets: one function for each parser of bytes that others made.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/format.hpp>

#include "fuzz/target.hpp"

namespace penstock::fuzz {

// What targets are made of.

std::string_view text_of(Input input);
/// A folder in memory (where TMPDIR lies there) that goes with the process.
const std::filesystem::path& folder();
/// The input as the file of that name in folder().
std::filesystem::path as_file(Input input, const std::string& name);
/// Finds, stamps and indexes the shard, then reads it.
void read_shard(const Format& format, const std::filesystem::path& shard);
/// Asks for every key and piece, and reads fields with filters undone. Stops at limits that keep an input below 0.1 s:
/// what they leave out is no more of the same.
void read_dataset(const Dataset& dataset);
/// Peeks at the value and decodes it whole and in part, by the codec that the schema names.
void decode_value(std::string_view codec, Input input);
/// Opens the cloud and reads all of its points, some, and some by their bytes alone.
void decode_cloud(std::string_view codec, Input input);

void tar(Input input);
void zip(Input input);
void tfrecord(Input input);
void example(Input input);
void mds(Input input);
void megatron(Input input);
void lmdb(Input input);
void hdf5(Input input);
void npy(Input input);
void idx(Input input);
void manifest(Input input);
void labels(Input input);
void pattern(Input input);
void state(Input input);
void chain(Input input);
void jpeg_codec(Input input);
void jpt_codec(Input input);
void las_codec(Input input);
void laz_codec(Input input);
void png_codec(Input input);
void points_codec(Input input);
void npy_codec(Input input);
void off_codec(Input input);
void pcd_codec(Input input);
void ply_codec(Input input);
void text_codec(Input input);
void webp_codec(Input input);
void xyz_codec(Input input);

}  // namespace penstock::fuzz
