// What the keys of a GGUF file hold.
#include <algorithm>
#include <utility>

#include "io/gguf.hpp"
#include "io/gguf_types.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

std::string_view gguf_text(const std::byte* at) {
    return {reinterpret_cast<const char*>(at) + sizeof(std::uint64_t),
            static_cast<std::size_t>(little_endian_at<std::uint64_t>(at))};
}

}  // namespace

std::string_view GgufTexts::Iterator::operator*() const { return gguf_text(at_); }

GgufTexts::Iterator& GgufTexts::Iterator::operator++() {
    at_ += sizeof(std::uint64_t) + gguf_text(at_).size();
    return *this;
}

std::optional<std::int64_t> GgufValue::integer() const {
    if (is_array) return std::nullopt;
    const std::byte* p = bytes.data();
    switch (type) {
        case GgufType::u8: return little_endian_at<std::uint8_t>(p);
        case GgufType::i8: return little_endian_at<std::int8_t>(p);
        case GgufType::u16: return little_endian_at<std::uint16_t>(p);
        case GgufType::i16: return little_endian_at<std::int16_t>(p);
        case GgufType::u32: return little_endian_at<std::uint32_t>(p);
        case GgufType::i32: return little_endian_at<std::int32_t>(p);
        case GgufType::i64: return little_endian_at<std::int64_t>(p);
        case GgufType::u64: {
            const auto value = little_endian_at<std::uint64_t>(p);
            return std::in_range<std::int64_t>(value) ? std::optional(static_cast<std::int64_t>(value))
                                                      : std::nullopt;
        }
        default: return std::nullopt;
    }
}

std::optional<double> GgufValue::number() const {
    if (is_array) return std::nullopt;
    if (type == GgufType::f32) return static_cast<double>(little_endian_at<float>(bytes.data()));
    if (type == GgufType::f64) return little_endian_at<double>(bytes.data());
    const auto whole = integer();
    return whole ? std::optional(static_cast<double>(*whole)) : std::nullopt;
}

std::optional<bool> GgufValue::flag() const {
    if (is_array || type != GgufType::boolean) return std::nullopt;
    return bytes.front() != std::byte{0};
}

std::optional<std::string_view> GgufValue::text() const {
    if (is_array || type != GgufType::text) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

GgufTexts GgufValue::texts() const {
    return is_array && type == GgufType::text ? GgufTexts(bytes, count) : GgufTexts();
}

GgufValue GgufValue::at(std::uint64_t i) const {
    const std::size_t size = *gguf_size(type);
    return {.type = type, .bytes = bytes.subspan(static_cast<std::size_t>(i) * size, size)};
}

std::optional<std::size_t> gguf_size(GgufType type) {
    switch (type) {
        case GgufType::u8:
        case GgufType::i8:
        case GgufType::boolean: return 1;
        case GgufType::u16:
        case GgufType::i16: return 2;
        case GgufType::u32:
        case GgufType::i32:
        case GgufType::f32: return 4;
        case GgufType::u64:
        case GgufType::i64:
        case GgufType::f64: return 8;
        case GgufType::text:
        case GgufType::array: break;
    }
    return std::nullopt;
}

const GgufValue* GgufHeader::find(std::string_view key) const {
    const auto place = std::ranges::lower_bound(keys, key, {}, &GgufKey::name);
    return place != keys.end() && place->name == key ? &place->value : nullptr;
}

const GgufTensor* GgufHeader::tensor(std::string_view name) const {
    const auto place = std::ranges::lower_bound(tensors, name, {}, &GgufTensor::name);
    return place != tensors.end() && place->name == name ? &*place : nullptr;
}

}  // namespace attn
