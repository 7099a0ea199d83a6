// Writes amounts and policies for lens Cache.
#pragma once

#include <string>

#include "analysis/theory/eviction.hpp"

namespace attn::app::cache_words {

std::string bytes(double bytes);               // "87.5 KB"; each unit is a thousand times the one before
std::string operations(double operations);     // "3.4 MFLOP"
std::string policy(const EvictionRule& rule);  // "at most 8 keys, the newest"

}  // namespace attn::app::cache_words
