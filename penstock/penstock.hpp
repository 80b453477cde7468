// Includes every header of penstock that a training program needs.
#pragma once

#include <penstock/chain.hpp>
#include <penstock/codec.hpp>
#include <penstock/dataset.hpp>
#include <penstock/error.hpp>
#include <penstock/ledger.hpp>
#include <penstock/loader.hpp>
#include <penstock/mixture.hpp>
#include <penstock/open_options.hpp>
#include <penstock/pack.hpp>
#include <penstock/sampling.hpp>
#include <penstock/select.hpp>
#include <penstock/stage.hpp>
#include <penstock/transform.hpp>
#include <penstock/verify.hpp>
#include <penstock/views.hpp>
