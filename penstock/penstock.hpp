// Everything a training program needs of penstock.
#pragma once

#include <penstock/formats/dataset.hpp>
#include <penstock/formats/error.hpp>
#include <penstock/loader/convert.hpp>
#include <penstock/loader/loader.hpp>
#include <penstock/loader/writer.hpp>
#include <penstock/transforms/chain.hpp>
#include <penstock/transforms/codec.hpp>
#include <penstock/transforms/transform.hpp>
