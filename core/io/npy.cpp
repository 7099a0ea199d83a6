#include "io/npy.hpp"

#include <algorithm>
#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "io/quote.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t numpy_max_rank = 64;  // NumPy's own limit

Error bad_npy(std::string what) { return Error{"this .npy file " + std::move(what)}; }

struct Descr {
    DType dtype;
    bool big_endian;
};

// descr, such as '<f4', gives the byte order, the kind and the size in bytes.
Result<Descr> parse_descr(std::string_view descr) {
    struct Known {
        std::string_view code;
        DType dtype;
    };
    constexpr std::array known{
        Known{"b1", DType::boolean}, Known{"u1", DType::u8},  Known{"i1", DType::i8},
        Known{"u2", DType::u16},     Known{"i2", DType::i16}, Known{"u4", DType::u32},
        Known{"i4", DType::i32},     Known{"u8", DType::u64}, Known{"i8", DType::i64},
        Known{"f2", DType::f16},     Known{"f4", DType::f32}, Known{"f8", DType::f64},
        Known{"V2", DType::bf16},  // how NumPy writes the bfloat16 of ml_dtypes
    };
    if (descr == "bfloat16") return Descr{DType::bf16, false};
    const std::string_view order = descr.substr(0, 1);
    const std::string_view code = order.empty() ? order : descr.substr(1);
    if (order == "<" || order == ">" || order == "|") {
        const auto* match = std::ranges::find(known, code, &Known::code);
        const bool ordered = order != "|" || code.ends_with('1') || code == "V2";
        if (match != known.end() && ordered) return Descr{match->dtype, order == ">"};
    }
    std::string kind;
    switch (code.empty() ? ' ' : code.front()) {
        case 'O': kind = " (Python objects)"; break;
        case 'c': kind = " (complex numbers)"; break;
        case 'S':
        case 'U': kind = " (strings)"; break;
        case 'm':
        case 'M': kind = " (dates)"; break;
        default: break;
    }
    return bad_npy("has elements of type " + quote(descr) + kind +
                   ", which cannot be read here; save booleans, integers or floats of 16 to 64 bits");
}

// The header is a Python dict literal with three known keys.
class HeaderParser {
  public:
    explicit HeaderParser(std::string_view text) : text_(text) {}

    Result<ArrayView> parse() {
        if (!take('{')) return broken("'{'");
        while (!take('}')) {
            const auto key = string();
            if (!key) return broken("a key in quotes or '}'");
            if (!take(':')) return broken("':'");
            if (Status status = value(*key); !status) return status.error();
            if (take(',')) continue;
            if (!take('}')) return broken("',' or '}'");
            break;
        }
        skip_space();
        if (at_ < text_.size()) return broken("nothing more");
        if (!element_) return bad_npy("has no 'descr' in its header, so the type of its elements is unknown");
        if (!fortran_order_) return bad_npy("has no 'fortran_order' in its header");
        if (!shape_) return bad_npy("has no 'shape' in its header");
        if (auto count = element_count(*shape_, static_cast<Index>(byte_size(element_->dtype))); !count)
            return bad_npy("cannot be read: " + count.error().message);
        return ArrayView{element_->dtype,
                         element_->big_endian,
                         *shape_,
                         *fortran_order_ ? column_major_strides(*shape_) : row_major_strides(*shape_),
                         {}};
    }

  private:
    Status value(std::string_view key) {
        const auto twice = [&] { return bad_npy("has " + quote(key) + " twice in its header"); };
        if (key == "descr") {
            if (element_) return twice();
            if (peek() == '[')
                return bad_npy("is a structured array (its 'descr' is a list), which cannot be read here");
            const auto descr = string();
            if (!descr) return broken("a type in quotes");
            auto element = parse_descr(*descr);
            if (!element) return element.error();
            element_ = *element;
        } else if (key == "fortran_order") {
            if (fortran_order_) return twice();
            if (word("True"))
                fortran_order_ = true;
            else if (word("False"))
                fortran_order_ = false;
            else
                return broken("True or False");
        } else if (key == "shape") {
            if (shape_) return twice();
            auto dims = tuple();
            if (!dims) return dims.error();
            shape_ = *std::move(dims);
        } else {
            return bad_npy("has an unknown key " + quote(key) +
                           " in its header; only descr, fortran_order and shape belong there");
        }
        return ok();
    }

    Result<Shape> tuple() {
        if (!take('(')) return broken("a tuple of dimensions");
        Shape dims;
        while (!take(')')) {
            if (dims.size() == numpy_max_rank) return bad_npy("has more than 64 dimensions");
            auto dim = integer();
            if (!dim) return dim.error();
            dims.push_back(*dim);
            if (take(',')) continue;
            if (dims.size() == 1) return broken("','");  // in Python, (3) is a number and (3,) a tuple
            if (!take(')')) return broken("',' or ')'");
            break;
        }
        return dims;
    }

    Result<Index> integer() {
        constexpr Index max = std::numeric_limits<Index>::max();
        skip_space();
        if (!is_digit()) return broken("a dimension that is not negative");
        Index value = 0;
        for (; is_digit(); ++at_) {
            const Index digit = text_[at_] - '0';
            if (value > (max - digit) / 10)
                return bad_npy("has a dimension that is larger than the address space");
            value = value * 10 + digit;
        }
        if (at_ < text_.size() && text_[at_] == 'L') ++at_;  // Python 2 wrote 3L
        return value;
    }

    std::optional<std::string_view> string() {
        const char quote_mark = peek();
        if (quote_mark != '\'' && quote_mark != '"') return std::nullopt;
        const std::size_t end = text_.find(quote_mark, at_ + 1);
        if (end == text_.npos) return std::nullopt;
        const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
        if (content.find('\\') != content.npos) return std::nullopt;
        at_ = end + 1;
        return content;
    }

    bool word(std::string_view expected) {
        skip_space();
        if (!text_.substr(at_).starts_with(expected)) return false;
        at_ += expected.size();
        return true;
    }

    bool take(char expected) {
        if (peek() != expected) return false;
        ++at_;
        return true;
    }

    char peek() {
        skip_space();
        return at_ < text_.size() ? text_[at_] : '\0';
    }

    void skip_space() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
    }

    bool is_digit() const { return at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9'; }

    Error broken(std::string_view expected) {
        const std::string found = at_ < text_.size() ? quote(text_.substr(at_, 12)) : "its end";
        return bad_npy("has a broken header: at character " + std::to_string(at_) + " it should have " +
                       std::string(expected) + " but has " + found);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::optional<Descr> element_;
    std::optional<bool> fortran_order_;
    std::optional<Shape> shape_;
};

template <std::integral T>
Result<std::vector<std::int64_t>> widen(std::span<const std::byte> bytes) {
    std::vector<std::int64_t> out(bytes.size() / sizeof(T));
    for (std::size_t i = 0; i < out.size(); ++i) {
        const T value = little_endian_at<T>(&bytes[i * sizeof(T)]);
        if (!std::in_range<std::int64_t>(value))
            return bad_npy("has the value " + std::to_string(value) +
                           ", which does not fit in 64 bits with a sign");
        out[i] = static_cast<std::int64_t>(value);
    }
    return out;
}

std::vector<std::byte> header(const Shape& shape, std::string_view descr) {
    std::string dims;
    for (Index d : shape) dims += (dims.empty() ? "" : ", ") + std::to_string(d);
    if (shape.size() == 1) dims += ',';
    std::string text =
        "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + dims + "), }";
    // NumPy leaves room for the first dimension to grow to 21 digits, then pads to a multiple of 64.
    if (!shape.empty()) text.append(21 - std::to_string(shape.front()).size(), ' ');
    constexpr std::size_t preamble = 10, alignment = 64;
    text.append(alignment - (preamble + text.size() + 1) % alignment, ' ');
    text += '\n';

    std::vector<std::byte> out(preamble + text.size());
    std::memcpy(out.data(), magic.data(), magic.size());
    out[6] = std::byte{1};
    out[8] = static_cast<std::byte>(text.size() & 0xff);
    out[9] = static_cast<std::byte>(text.size() >> 8);
    std::memcpy(out.data() + preamble, text.data(), text.size());
    return out;
}

template <class T>
std::vector<std::byte> write(const Shape& shape, std::span<const T> values, std::string_view descr) {
    std::vector<std::byte> out = header(shape, descr);
    const auto bytes = std::as_bytes(values);
    out.insert(out.end(), bytes.begin(), bytes.end());
    return out;
}

}  // namespace

Result<std::uint64_t> npy_header_size(std::span<const std::byte> first_bytes, std::uint64_t file_size) {
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()), first_bytes.size());
    if (!text.starts_with(magic)) return Error{"this is not a .npy file: it does not begin with \\x93NUMPY"};
    if (text.size() < 8) return bad_npy("ends within its first 8 bytes");
    const auto byte_at = [&](std::size_t i) { return std::to_integer<std::uint32_t>(first_bytes[i]); };
    const std::uint32_t major = byte_at(6), minor = byte_at(7);
    if (major < 1 || major > 3 || minor != 0)
        return bad_npy("has version " + std::to_string(major) + "." + std::to_string(minor) +
                       "; versions 1.0, 2.0 and 3.0 can be read");

    const std::size_t length_bytes = major == 1 ? 2 : 4;
    const std::size_t preamble = 8 + length_bytes;
    if (text.size() < preamble || file_size < preamble)
        return bad_npy("ends within the length of its header");
    std::uint32_t length = 0;
    for (std::size_t i = 0; i < length_bytes; ++i) length |= byte_at(8 + i) << (8 * i);
    if (length > file_size - preamble)
        return bad_npy("says that its header has " + std::to_string(length) + " bytes, but only " +
                       std::to_string(file_size - preamble) + " follow");
    return std::uint64_t{preamble} + length;
}

Result<NpyHeader> parse_npy_header(std::span<const std::byte> first_bytes, std::uint64_t file_size) {
    const auto size = npy_header_size(first_bytes, file_size);
    if (!size) return size.error();
    if (*size > first_bytes.size())
        return bad_npy("has a header that ends at byte " + std::to_string(*size) + ", but only its first " +
                       std::to_string(first_bytes.size()) + " bytes are here");
    const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                                static_cast<std::size_t>(*size));
    const std::size_t preamble = first_bytes[6] == std::byte{1} ? 10 : 12;
    auto array = HeaderParser(text.substr(preamble)).parse();
    if (!array) return array.error();

    const auto needed = static_cast<std::uint64_t>(*element_count(array->shape)) * byte_size(array->dtype);
    const std::uint64_t present = file_size - *size;
    if (needed != present)
        return bad_npy("has shape " + to_string(array->shape) + " of " + std::string(name(array->dtype)) +
                       ", which takes " + std::to_string(needed) + " bytes, but " + std::to_string(present) +
                       " follow its header" + (present < needed ? "; it is cut short" : ""));
    return NpyHeader{*std::move(array), *size};
}

Result<ArrayView> parse_npy(std::span<const std::byte> file) {
    auto header = parse_npy_header(file, file.size());
    if (!header) return header.error();
    header->array.bytes = file.subspan(static_cast<std::size_t>(header->data_offset));
    return std::move(header->array);
}

Result<std::vector<std::int64_t>> to_int64(const ArrayView& array) {
    std::vector<std::byte> storage;
    const auto bytes = row_major(array, storage);
    switch (array.dtype) {
        case DType::boolean:
        case DType::u8: return widen<std::uint8_t>(bytes);
        case DType::i8: return widen<std::int8_t>(bytes);
        case DType::u16: return widen<std::uint16_t>(bytes);
        case DType::i16: return widen<std::int16_t>(bytes);
        case DType::u32: return widen<std::uint32_t>(bytes);
        case DType::i32: return widen<std::int32_t>(bytes);
        case DType::u64: return widen<std::uint64_t>(bytes);
        case DType::i64: return widen<std::int64_t>(bytes);
        default: break;
    }
    return bad_npy("holds " + std::string(name(array.dtype)) + " where whole numbers are needed");
}

std::vector<std::byte> npy_header_f32(const Shape& shape) { return header(shape, "<f4"); }

std::vector<std::byte> write_npy(const Shape& shape, std::span<const float> values) {
    return write(shape, values, "<f4");
}
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int32_t> values) {
    return write(shape, values, "<i4");
}
std::vector<std::byte> write_npy(const Shape& shape, std::span<const std::int64_t> values) {
    return write(shape, values, "<i8");
}

}  // namespace attn
