#include "io/safetensors.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <set>
#include <utility>

#include "io/json.hpp"
#include "io/quote.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

using nlohmann::json;

constexpr std::uint64_t length_bytes = 8;
constexpr std::uint64_t max_header = 100'000'000;  // the format's own limit
constexpr std::size_t max_rank = 64;

Error bad_safetensors(std::string what) { return Error{"this .safetensors file " + std::move(what)}; }

struct ElementType {
    std::string_view name;
    std::uint64_t bits;
    std::optional<DType> dtype;
};

constexpr std::array element_types{
    ElementType{"BOOL", 8, DType::boolean},
    ElementType{"U8", 8, DType::u8},
    ElementType{"I8", 8, DType::i8},
    ElementType{"U16", 16, DType::u16},
    ElementType{"I16", 16, DType::i16},
    ElementType{"U32", 32, DType::u32},
    ElementType{"I32", 32, DType::i32},
    ElementType{"U64", 64, DType::u64},
    ElementType{"I64", 64, DType::i64},
    ElementType{"F16", 16, DType::f16},
    ElementType{"BF16", 16, DType::bf16},
    ElementType{"F32", 32, DType::f32},
    ElementType{"F64", 64, DType::f64},
    ElementType{"C64", 64, std::nullopt},
    ElementType{"F8_E5M2", 8, std::nullopt},
    ElementType{"F8_E4M3", 8, std::nullopt},
    ElementType{"F8_E5M2FNUZ", 8, std::nullopt},
    ElementType{"F8_E4M3FNUZ", 8, std::nullopt},
    ElementType{"F8_E8M0", 8, std::nullopt},
    ElementType{"F6_E2M3", 6, std::nullopt},
    ElementType{"F6_E3M2", 6, std::nullopt},
    ElementType{"F4", 4, std::nullopt},
};

// Returns the elements of a JSON list of non-negative integers, or nothing if it is not such a list.
std::optional<std::vector<std::uint64_t>> whole_numbers(const json& object, const char* key) {
    const auto place = object.find(key);
    if (place == object.end() || !place->is_array()) return std::nullopt;
    std::vector<std::uint64_t> out;
    out.reserve(place->size());
    for (const json& value : *place) {
        const auto* number = value.get_ptr<const json::number_unsigned_t*>();
        if (!number) return std::nullopt;
        out.push_back(*number);
    }
    return out;
}

// Returns nothing if the product does not fit in 64 bits.
std::optional<std::uint64_t> multiply(std::uint64_t a, std::uint64_t b) {
    if (b != 0 && a > std::numeric_limits<std::uint64_t>::max() / b) return std::nullopt;
    return a * b;
}

Result<TensorEntry> parse_entry(const std::string& name, const json& object) {
    const auto wrong = [&](std::string what) {
        return bad_safetensors("has tensor " + quote(name) + " " + std::move(what));
    };
    if (!object.is_object()) return wrong("without dtype, shape and data_offsets");
    TensorEntry entry;
    entry.name = name;

    const auto place = object.find("dtype");
    const auto* dtype = place == object.end() ? nullptr : place->get_ptr<const std::string*>();
    if (!dtype) return wrong("without a 'dtype'");
    const auto* type = std::ranges::find(element_types, std::string_view(*dtype), &ElementType::name);
    if (type == element_types.end()) return wrong("of the unknown dtype " + quote(*dtype));
    entry.dtype_name = type->name;
    entry.dtype = type->dtype;

    const auto shape = whole_numbers(object, "shape");
    if (!shape) return wrong("without a 'shape' of whole numbers");
    if (shape->size() > max_rank) return wrong("with more than 64 dimensions");
    auto bits = std::optional<std::uint64_t>(1);
    for (std::uint64_t dim : *shape) {
        bits = multiply(*bits, dim);
        if (!bits || !std::in_range<Index>(dim))
            return wrong("with a shape that is larger than the address space");
        entry.shape.push_back(static_cast<Index>(dim));
    }
    bits = multiply(*bits, type->bits);
    if (!bits) return wrong("with a shape that is larger than the address space");
    const std::string described = "of shape " + to_string(entry.shape) + " and dtype " + *dtype;
    if (*bits % 8 != 0) return wrong(described + ", which does not fill whole bytes");

    const auto offsets = whole_numbers(object, "data_offsets");
    if (!offsets || offsets->size() != 2) return wrong("without 'data_offsets' of two whole numbers");
    entry.begin = (*offsets)[0];
    entry.end = (*offsets)[1];
    const std::string range = "[" + std::to_string(entry.begin) + ", " + std::to_string(entry.end) + ")";
    if (entry.begin > entry.end) return wrong("with data_offsets " + range + ", which end before they begin");
    if (entry.end - entry.begin != *bits / 8)
        return wrong(described + ", which takes " + std::to_string(*bits / 8) +
                     " bytes, but its data_offsets " + range + " hold " +
                     std::to_string(entry.end - entry.begin));
    return entry;
}

// In the order of their offsets, the tensors must begin at 0, follow each other without gap or
// overlap, and end with the file.
Status check_layout(const std::vector<TensorEntry>& tensors, std::uint64_t data_size) {
    std::vector<const TensorEntry*> order;
    order.reserve(tensors.size());
    for (const TensorEntry& entry : tensors) order.push_back(&entry);
    std::ranges::sort(order, {}, [](const TensorEntry* e) { return std::pair(e->begin, e->end); });
    std::uint64_t at = 0;
    for (const TensorEntry* entry : order) {
        if (entry->begin != at)
            return bad_safetensors("has tensor " + quote(entry->name) + " at byte " +
                                   std::to_string(entry->begin) + " of its data where byte " +
                                   std::to_string(at) + " should come next; tensors must not " +
                                   (entry->begin < at ? "overlap" : "leave holes"));
        at = entry->end;
    }
    if (at != data_size)
        return bad_safetensors("has tensors that end at byte " + std::to_string(at) +
                               " of its data, but its data has " + std::to_string(data_size) + " bytes" +
                               (data_size < at ? "; it is cut short" : ""));
    return ok();
}

Status read_metadata(const json& object, SafetensorsHeader& header) {
    if (!object.is_object()) return bad_safetensors("has '__metadata__' that is not an object");
    for (const auto& [key, value] : object.items()) {
        const auto* text = value.get_ptr<const std::string*>();
        if (!text) return bad_safetensors("has '__metadata__' whose " + quote(key) + " is not a text");
        header.metadata.emplace(key, *text);
    }
    return ok();
}

bool is_plain_file_name(std::string_view name) {
    constexpr std::string_view others = "-_.";
    return name.ends_with(".safetensors") && name.front() != '.' && std::ranges::all_of(name, [&](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      others.find(c) != others.npos;
           });
}

}  // namespace

const TensorEntry* SafetensorsHeader::find(std::string_view name) const {
    const auto place = std::ranges::lower_bound(tensors, name, {}, &TensorEntry::name);
    return place != tensors.end() && place->name == name ? &*place : nullptr;
}

Result<std::uint64_t> safetensors_header_size(std::span<const std::byte> first_bytes,
                                              std::uint64_t file_size) {
    if (first_bytes.size() < length_bytes || file_size < length_bytes)
        return bad_safetensors("ends within its first 8 bytes, the length of its header");
    const auto length = little_endian_at<std::uint64_t>(first_bytes.data());
    if (length > max_header)
        return bad_safetensors(
            "says that its header has " + std::to_string(length) +
            " bytes; the format allows 100000000, so this is another kind of file or a broken one");
    if (length > file_size - length_bytes)
        return bad_safetensors("says that its header has " + std::to_string(length) + " bytes, but only " +
                               std::to_string(file_size - length_bytes) + " follow; it is cut short");
    return length_bytes + length;
}

Result<SafetensorsHeader> parse_safetensors_header(std::span<const std::byte> first_bytes,
                                                   std::uint64_t file_size) {
    const auto size = safetensors_header_size(first_bytes, file_size);
    if (!size) return size.error();
    if (*size > first_bytes.size())
        return bad_safetensors("has a header that ends at byte " + std::to_string(*size) +
                               ", but only its first " + std::to_string(first_bytes.size()) +
                               " bytes are here");
    const auto text = first_bytes.first(static_cast<std::size_t>(*size)).subspan(length_bytes);
    if (text.empty() || text.front() != std::byte{'{'})
        return bad_safetensors("has a header that does not begin with '{'");
    const auto tree =
        parse_json(text, "the header of this .safetensors file", {.bytes = max_header, .depth = 4});
    if (!tree) return tree.error();

    SafetensorsHeader header;
    header.data_offset = *size;
    for (const auto& [name, value] : tree->items()) {  // sorted by name
        if (name == "__metadata__") {
            if (Status status = read_metadata(value, header); !status) return status.error();
            continue;
        }
        auto entry = parse_entry(name, value);
        if (!entry) return entry.error();
        header.tensors.push_back(*std::move(entry));
    }
    if (Status status = check_layout(header.tensors, file_size - *size); !status) return status.error();
    return header;
}

Result<SafetensorsFile> parse_safetensors(std::span<const std::byte> file) {
    auto header = parse_safetensors_header(file, file.size());
    if (!header) return header.error();
    const auto data = file.subspan(static_cast<std::size_t>(header->data_offset));
    return SafetensorsFile{*std::move(header), data};
}

std::span<const std::byte> SafetensorsFile::bytes(const TensorEntry& entry) const {
    return data.subspan(static_cast<std::size_t>(entry.begin),
                        static_cast<std::size_t>(entry.end - entry.begin));
}

Result<ArrayView> SafetensorsFile::view(std::string_view name) const {
    const TensorEntry* entry = header.find(name);
    if (!entry) return bad_safetensors("has no tensor " + quote(name));
    if (!entry->dtype)
        return bad_safetensors("has tensor " + quote(name) + " of dtype " + std::string(entry->dtype_name) +
                               ", which cannot be computed with here");
    return ArrayView{*entry->dtype, false, entry->shape, row_major_strides(entry->shape), bytes(*entry)};
}

Result<Tensor> SafetensorsFile::tensor(std::string_view name) const {
    const auto array = view(name);
    if (!array) return array.error();
    auto tensor = to_tensor(*array);
    if (!tensor)
        return bad_safetensors("has tensor " + quote(name) + " that is too large: " + tensor.error().message);
    return tensor;
}

Result<SafetensorsIndex> parse_safetensors_index(std::span<const std::byte> text) {
    constexpr std::string_view what = "model.safetensors.index.json";
    const auto wrong = [&](const std::string& problem) { return Error{std::string(what) + " " + problem}; };
    const auto tree = parse_json(text, what, {.depth = 4});
    if (!tree) return tree.error();
    if (!tree->is_object() || !tree->contains("weight_map")) return wrong("has no 'weight_map'");
    const json& weights = *tree->find("weight_map");
    if (!weights.is_object()) return wrong("has a 'weight_map' that is not an object");

    SafetensorsIndex index;
    std::set<std::string> files;
    for (const auto& [name, value] : weights.items()) {
        const auto* file = value.get_ptr<const std::string*>();
        if (!file) return wrong("names no file for tensor " + quote(name));
        if (!is_plain_file_name(*file))
            return wrong("names the file " + quote(*file) + " for tensor " + quote(name) +
                         "; a plain name that ends in .safetensors is needed");
        index.weight_map.emplace(name, *file);
        files.insert(*file);
    }
    index.files.assign(files.begin(), files.end());
    return index;
}

std::vector<std::byte> write_safetensors(std::span<const TensorToWrite> tensors,
                                         const std::map<std::string, std::string>& metadata) {
    nlohmann::ordered_json header = nlohmann::ordered_json::object();
    if (!metadata.empty()) header["__metadata__"] = metadata;
    std::uint64_t end = 0;
    for (const TensorToWrite& tensor : tensors) {
        const auto type = std::ranges::find(element_types, std::optional(tensor.dtype), &ElementType::dtype);
        const std::uint64_t begin = std::exchange(end, end + tensor.bytes.size());
        header[tensor.name] = {
            {"dtype", type->name}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
    }
    std::string text = header.dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');

    std::vector<std::byte> file;
    file.reserve(static_cast<std::size_t>(length_bytes + text.size() + end));
    const std::uint64_t header_bytes = text.size();
    for (std::uint64_t i = 0; i < length_bytes; ++i)
        file.push_back(static_cast<std::byte>(header_bytes >> (8 * i) & 0xff));
    const auto append = [&](std::span<const std::byte> bytes) {
        file.insert(file.end(), bytes.begin(), bytes.end());
    };
    append(std::as_bytes(std::span(text)));
    for (const TensorToWrite& tensor : tensors) append(tensor.bytes);
    return file;
}

}  // namespace attn
