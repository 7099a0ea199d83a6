#include "runs/model_amounts.hpp"

#include <algorithm>

#include "app/format.hpp"

namespace attn::app {

namespace {

constexpr std::array<const char*, 6> byte_units{" B", " KB", " MB", " GB", " TB", " PB"};
constexpr std::array<const char*, 7> operation_units{" FLOP",  " kFLOP", " MFLOP", " GFLOP",
                                                     " TFLOP", " PFLOP", " EFLOP"};
constexpr std::array<const char*, 4> count_units{"", " thousand", " million", " billion"};

}  // namespace

std::optional<double> ModelUse::amount(Amount amount) const {
    const ModelStep taken = step(is_of_reading(amount));
    switch (amount) {
        case Amount::weights: return weight_count(shape);
        case Amount::reading:
        case Amount::writing: return taken.operations.total();
        case Amount::attention_share: return taken.operations.attention / taken.operations.total();
        case Amount::reading_bytes:
        case Amount::writing_bytes: return taken.moved();
        case Amount::reading_intensity:
        case Amount::writing_intensity: return taken.intensity();
        case Amount::cache: return cache_bytes(shape, tokens, bytes);
        case Amount::reading_time:
        case Amount::writing_time: break;
    }
    if (!roof) return std::nullopt;
    return 1e3 * std::max(taken.operations.total() / roof->peak, taken.moved() / roof->bandwidth);
}

std::string operations_text(double operations) { return in_thousands(operations, operation_units); }
std::string bytes_text(double bytes) { return in_thousands(bytes, byte_units); }
std::string time_text(double ms) {
    if (ms >= 60'000) return fixed(ms / 60'000, 1) + " min";
    if (ms >= 1000) return fixed(ms / 1000, 1) + " s";
    return ms >= 1 ? fixed(ms, ms < 100 ? 2 : 0) + " ms" : fixed(ms * 1000, 1) + " µs";
}

std::string amount_text(Amount amount, double value) {
    switch (amount) {
        case Amount::weights: return in_thousands(value, count_units);
        case Amount::reading:
        case Amount::writing: return operations_text(value);
        case Amount::attention_share: return percent(value);
        case Amount::reading_intensity:
        case Amount::writing_intensity: return fixed(value, value < 10 ? 2 : 0);
        case Amount::reading_bytes:
        case Amount::writing_bytes:
        case Amount::cache: return bytes_text(value);
        case Amount::reading_time:
        case Amount::writing_time: break;
    }
    return time_text(value);
}

}  // namespace attn::app
