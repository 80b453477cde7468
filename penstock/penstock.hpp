// Includes every header that a training program needs of penstock.
#pragma once

#include <penstock/base/error.hpp>
#include <penstock/formats/dataset.hpp>
#include <penstock/formats/open_options.hpp>
#include <penstock/formats/views/views.hpp>
#include <penstock/loader/choices/lengths.hpp>
#include <penstock/loader/choices/only.hpp>
#include <penstock/loader/choices/sort.hpp>
#include <penstock/loader/choices/split.hpp>
#include <penstock/loader/choices/token_blocks.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/order/mixture/mixture.hpp>
#include <penstock/pack/convert.hpp>
#include <penstock/pack/writer.hpp>
#include <penstock/record/ledger/audit.hpp>
#include <penstock/transforms/chain.hpp>
#include <penstock/transforms/codec.hpp>
#include <penstock/transforms/transform.hpp>
