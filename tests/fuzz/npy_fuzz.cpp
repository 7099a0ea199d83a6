// Reads any bytes as a .npy file. What is read as float32 or int64 is written again and must read the same.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "fuzz/target.hpp"
#include "io/npy.hpp"

using namespace attn;

FUZZ_TARGET(npy) {
    const auto array = parse_npy(std::as_bytes(std::span(data, size)));
    if (!array) {
        require(!array.error().message.empty());
        return 0;
    }
    if (const auto tensor = to_tensor(*array)) {
        const std::vector<std::byte> written = write_npy(array->shape, tensor->values());
        const auto again = parse_npy(written);
        require(again && again->shape == array->shape);
        const auto values = std::as_bytes(tensor->values());
        require(again->bytes.size() == values.size());
        require(values.empty() || std::memcmp(again->bytes.data(), values.data(), values.size()) == 0);
    }
    if (const auto integers = to_int64(*array)) {
        const std::vector<std::byte> written = write_npy(array->shape, std::span(*integers));
        const auto again = parse_npy(written);
        require(again && *to_int64(*again) == *integers);
    }
    return 0;
}
