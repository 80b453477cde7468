// Loads cuFile (GPUDirect Storage) when a program first asks for it. No part of penstock requires it.
#pragma once

#include <functional>
#include <memory>

#include <device/cuda/library_facts.hpp>
#include <device/file_reads.hpp>

namespace penstock {

/// Searches for the file named by PENSTOCK_CUFILE, for one that the program has already loaded, for one in the
/// nvidia-cufile wheel next to penstock's, and in the system's library paths. Runs once per process. Never fails, and
/// does not open a driver.
LibraryFacts cufile_facts();

/// Runs `work` in the calling thread while the context of a CUDA device is current.
using InContext = std::function<void(const std::function<void()>& work)>;

/// Reads with cuFile. The first reader opens cuFile's driver, once per process. Whether a file is bounced depends on
/// what the driver reports for its kind of storage; cuFile does not report it for single reads.
/// Throws Error: unsupported, with the reason: cuFile is missing, its driver refuses, or /run/udev is hidden (in
/// containers) and PENSTOCK_CUFILE is not set.
std::shared_ptr<FileReads> open_cufile(InContext in_context);

}  // namespace penstock
