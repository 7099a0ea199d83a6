#include "io/gguf.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "io/gguf_types.hpp"
#include "io/quote.hpp"
#include "tensor/little_endian.hpp"

namespace attn {

namespace {

constexpr std::uint32_t max_dimensions = 4;
constexpr std::uint64_t max_tensor_name = 64;
constexpr int max_nesting = 8;  // arrays within arrays
// The least that a key takes: the length of its name, a character, its type, and a value of a byte. A tensor
// takes also its number of dimensions, one of them, its type and its offset.
constexpr std::uint64_t least_key = 8 + 1 + 4 + 1, least_tensor = 8 + 1 + 4 + 8 + 4 + 8;
constexpr std::string_view broken = "; it is broken: download it again",
                           cut_short = "; it is cut short: download it again";

std::string in_digits(std::uint64_t number) { return std::to_string(number); }

Error bad_gguf(std::string what) { return Error{"this GGUF file " + std::move(what)}; }

// Reads on from the start of a file. After the first problem, and where the bytes that are here end, it reads
// no more.
class GgufCursor {
  public:
    GgufCursor(std::span<const std::byte> bytes, std::uint64_t file_size)
        : bytes_(bytes), file_size_(file_size) {}

    std::string where;  // what is being read, for messages

    bool fine() const { return !more_ && problem_.empty(); }
    bool needs_more() const { return more_; }
    const std::string& problem() const { return problem_; }
    std::uint64_t at() const { return at_; }
    const std::byte* here() const { return bytes_.data() + at_; }
    std::uint64_t left() const { return file_size_ - at_; }
    std::uint64_t file_size() const { return file_size_; }

    void refuse(std::string what) {
        if (fine()) problem_ = std::move(what);
    }

    std::span<const std::byte> take(std::uint64_t count) {
        if (!fine()) return {};
        if (count > left()) {
            refuse("ends at byte " + in_digits(file_size_) + ", within " + where + std::string(cut_short));
        } else if (count > bytes_.size() - at_) {
            more_ = true;
        } else {
            const auto taken = bytes_.subspan(static_cast<std::size_t>(at_), static_cast<std::size_t>(count));
            at_ += count;
            return taken;
        }
        return {};
    }

    template <class T>
    T number() {
        const auto taken = take(sizeof(T));
        return taken.empty() ? T{} : little_endian_at<T>(taken.data());
    }

    std::string_view text(std::string_view what) {
        const auto length = number<std::uint64_t>();
        if (!fits(length, 1, what, "bytes")) return {};
        const auto taken = take(length);
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }

    // Whether so many things of at least so many bytes each fit into what is left of the file.
    bool fits(std::uint64_t count, std::uint64_t least, std::string_view what, std::string_view things) {
        if (fine() && count > left() / least)
            refuse("says that " + std::string(what) + " has " + in_digits(count) + " " + std::string(things) +
                   (where.empty() ? "" : ", in " + where) + ", but only " + in_digits(left()) +
                   " bytes follow; it is cut short or broken: download it again");
        return fine();
    }

  private:
    std::span<const std::byte> bytes_;
    std::uint64_t file_size_, at_ = 0;
    bool more_ = false;
    std::string problem_;
};

bool is_gguf_type(GgufCursor& in, std::uint32_t type) {
    if (in.fine() && type > static_cast<std::uint32_t>(GgufType::f64))
        in.refuse("has a value of type " + std::to_string(type) + ", which does not exist, in " + in.where +
                  std::string(broken));
    return in.fine();
}

GgufValue read_gguf_value(GgufCursor& in, std::uint32_t number, int depth);

GgufValue read_gguf_array(GgufCursor& in, int depth) {
    const auto number = in.number<std::uint32_t>();
    const auto count = in.number<std::uint64_t>();
    if (!is_gguf_type(in, number)) return {};
    if (depth > max_nesting) {
        in.refuse("has arrays within arrays, more than " + std::to_string(max_nesting) + " deep, in " +
                  in.where + std::string(broken));
        return {};
    }
    const auto type = static_cast<GgufType>(number);
    const std::uint64_t least = gguf_size(type).value_or(type == GgufType::text ? 8 : 12);
    if (!in.fits(count, least, "an array", "elements")) return {};
    GgufValue array{.type = type, .is_array = true, .count = count, .bytes = {}};
    if (gguf_size(type)) {
        array.bytes = in.take(count * least);
        return array;
    }
    // Elements of sizes of their own lie one after the other, from the first to the last.
    const std::byte* first = nullptr;
    for (std::uint64_t i = 0; i < count && in.fine(); ++i) {
        const std::byte* begin = in.here();
        read_gguf_value(in, number, depth);
        if (i == 0) first = begin;
    }
    if (first && in.fine()) array.bytes = {first, in.here()};
    return array;
}

GgufValue read_gguf_value(GgufCursor& in, std::uint32_t number, int depth) {
    if (!is_gguf_type(in, number)) return {};
    const auto type = static_cast<GgufType>(number);
    if (type == GgufType::array) return read_gguf_array(in, depth + 1);
    GgufValue value{.type = type, .bytes = {}};
    if (const auto size = gguf_size(type)) {
        value.bytes = in.take(*size);
    } else {
        const std::string_view text = in.text("a text");
        value.bytes = std::as_bytes(std::span(text));
    }
    return value;
}

std::uint64_t read_gguf_start(GgufCursor& in, GgufHeader& header, std::uint64_t& keys) {
    in.where = "its first 24 bytes";
    const auto magic = in.take(4);
    if (in.fine() && std::memcmp(magic.data(), "GGUF", 4) != 0)
        in.refuse(
            "begins with " + quote({reinterpret_cast<const char*>(magic.data()), 4}) +
            " where 'GGUF' should stand; it is another kind of file, or one of llama.cpp's from before 2023: "
            "convert the model again");
    header.version = in.number<std::uint32_t>();
    if (in.fine() && (header.version & 0xffff) == 0 && header.version != 0)
        in.refuse("is big-endian, which is not supported: get one that is little-endian, as most are");
    if (in.fine() && header.version != 2 && header.version != 3)
        in.refuse("has version " + std::to_string(header.version) +
                  " of the format; versions 2 and 3 are supported: convert the model again");
    const auto tensors = in.number<std::uint64_t>();
    keys = in.number<std::uint64_t>();
    in.where.clear();
    in.fits(keys, least_key, "it", "keys");
    in.fits(tensors, least_tensor, "it", "tensors");
    return tensors;
}

void read_gguf_keys(GgufCursor& in, std::uint64_t count, GgufHeader& header) {
    for (std::uint64_t i = 0; i < count && in.fine(); ++i) {
        in.where = "key " + in_digits(i + 1) + " of " + in_digits(count);
        GgufKey key{.name = in.text("a name"), .value = {}};
        if (in.fine() && key.name.empty())
            in.refuse("has a key without a name, " + in.where + std::string(broken));
        if (in.fine()) in.where = "key " + quote(key.name);
        const auto type = in.number<std::uint32_t>();
        key.value = read_gguf_value(in, type, 0);
        if (in.fine()) header.keys.push_back(key);
    }
    std::ranges::sort(header.keys, {}, &GgufKey::name);
    if (const auto twice = std::ranges::adjacent_find(header.keys, {}, &GgufKey::name);
        twice != header.keys.end())
        in.refuse("has key " + quote(twice->name) + " twice" + std::string(broken));
}

const GgmlType* find_ggml_type(GgufCursor& in, std::uint32_t number) {
    const auto* type = std::ranges::find(ggml_types, number, &GgmlType::number);
    const bool known = type != ggml_types.end();
    if (in.fine() && (!known || !type->dtype))
        in.refuse("has " + in.where + " of type " +
                  (known ? std::string(type->name) : std::to_string(number)) + ", which is not supported; " +
                  std::string(supported_weights) + " are: get the model in one of these");
    return in.fine() ? type : nullptr;
}

// The offset is still the one from the start of the data.
std::optional<GgufTensor> read_gguf_tensor(GgufCursor& in) {
    GgufTensor tensor{.name = in.text("a name"), .dtype_name = {}, .shape = {}};
    if (in.fine() && tensor.name.empty())
        in.refuse("has a tensor without a name, " + in.where + std::string(broken));
    if (!in.fine()) return std::nullopt;
    in.where = "tensor " + quote(tensor.name);
    if (tensor.name.size() > max_tensor_name)
        in.refuse("has " + in.where + " with a name of " + in_digits(tensor.name.size()) + " bytes; " +
                  in_digits(max_tensor_name) + " are the most" + std::string(broken));
    const auto dimensions = in.number<std::uint32_t>();
    if (in.fine() && dimensions > max_dimensions)
        in.refuse("has " + in.where + " with " + std::to_string(dimensions) + " dimensions; " +
                  std::to_string(max_dimensions) + " are the most" + std::string(broken));
    std::uint64_t elements = 1, row = 1;
    for (std::uint32_t i = 0; i < dimensions && in.fine(); ++i) {
        const auto size = in.number<std::uint64_t>();
        if (in.fine() && size == 0)
            in.refuse("has " + in.where + " with a dimension of 0, which holds nothing" +
                      std::string(broken));
        if (!in.fine()) break;
        // So that its bytes can be counted as well, of 8 each at most.
        constexpr auto most =
            std::min(static_cast<std::uint64_t>(std::numeric_limits<Index>::max()), std::uint64_t{1} << 60);
        if (size > most / elements) {
            in.refuse("has " + in.where + " with more values than there are addresses" + std::string(broken));
            break;
        }
        elements *= size;
        if (i == 0) row = size;
        tensor.shape.insert(tensor.shape.begin(), static_cast<Index>(size));
    }
    const auto number = in.number<std::uint32_t>();
    const GgmlType* type = find_ggml_type(in, number);
    tensor.offset = in.number<std::uint64_t>();
    if (!in.fine()) return std::nullopt;
    tensor.dtype = *type->dtype;
    tensor.dtype_name = type->name;
    const auto block = static_cast<std::uint64_t>(block_elements(tensor.dtype));
    if (row % block != 0) {
        in.refuse("has " + in.where + " of type " + std::string(type->name) + " with rows of " +
                  in_digits(row) + " values, which are no whole blocks of " + in_digits(block) +
                  std::string(broken));
        return std::nullopt;
    }
    tensor.bytes = elements / block * byte_size(tensor.dtype);
    return tensor;
}

void read_gguf_tensors(GgufCursor& in, std::uint64_t count, GgufHeader& header) {
    for (std::uint64_t i = 0; i < count && in.fine(); ++i) {
        in.where = "tensor " + in_digits(i + 1) + " of " + in_digits(count);
        if (auto tensor = read_gguf_tensor(in)) header.tensors.push_back(*std::move(tensor));
    }
    std::ranges::sort(header.tensors, {}, &GgufTensor::name);
    if (const auto twice = std::ranges::adjacent_find(header.tensors, {}, &GgufTensor::name);
        twice != header.tensors.end())
        in.refuse("has tensor " + quote(twice->name) + " twice" + std::string(broken));
}

// Returns nothing if the key is absent.
std::optional<std::uint64_t> gguf_count(GgufCursor& in, const GgufHeader& header, std::string_view key) {
    const GgufValue* value = header.find(key);
    if (!value) return std::nullopt;
    const auto count = value->integer();
    if (count && *count >= 0) return static_cast<std::uint64_t>(*count);
    in.refuse("should have a whole number from 0 on as " + quote(key) + std::string(broken));
    return std::nullopt;
}

void read_gguf_alignment(GgufCursor& in, GgufHeader& header) {
    const auto alignment = gguf_count(in, header, "general.alignment");
    if (!alignment) return;
    header.alignment = *alignment;
    if (!std::has_single_bit(header.alignment))
        in.refuse("has " + in_digits(header.alignment) +
                  " as 'general.alignment', which should be a power of two" + std::string(broken));
}

void read_gguf_shard(GgufCursor& in, GgufHeader& header) {
    header.shards = gguf_count(in, header, "split.count").value_or(1);
    header.shard = gguf_count(in, header, "split.no").value_or(0);
    header.tensors_of_all = gguf_count(in, header, "split.tensors.count");
    // Before the keys were there, or where a file was put together again, they may be 0.
    if (header.shards == 0) header.shards = 1;
    if (header.shard >= header.shards)
        in.refuse("says that it is file " + in_digits(header.shard + 1) + " of " + in_digits(header.shards) +
                  " (split.no, split.count)" + std::string(broken));
}

// Turns offsets into those from the start of the file. Tensors must begin at a multiple of the alignment,
// without overlap, and end within the file.
void place_gguf_tensors(GgufCursor& in, GgufHeader& header) {
    header.data_offset = (in.at() + header.alignment - 1) / header.alignment * header.alignment;
    std::vector<const GgufTensor*> order;
    for (GgufTensor& tensor : header.tensors) {
        const std::string told = "has tensor " + quote(tensor.name);
        if (tensor.offset % header.alignment != 0)
            return in.refuse(told + " at byte " + in_digits(tensor.offset) +
                             " of its data, which is no multiple of its alignment of " +
                             in_digits(header.alignment) + std::string(broken));
        if (tensor.offset > in.file_size() || tensor.bytes > in.file_size() ||
            header.data_offset + tensor.offset + tensor.bytes > in.file_size())
            return in.refuse(told + " of " + in_digits(tensor.bytes) + " bytes at byte " +
                             in_digits(tensor.offset) + " of its data, which begin at byte " +
                             in_digits(header.data_offset) + ", but the file ends at byte " +
                             in_digits(in.file_size()) + "; it is cut short or broken: download it again");
        tensor.offset += header.data_offset;
        order.push_back(&tensor);
    }
    std::ranges::sort(order, {}, &GgufTensor::offset);
    for (std::size_t i = 1; i < order.size(); ++i)
        if (order[i]->offset < order[i - 1]->offset + order[i - 1]->bytes)
            return in.refuse("has tensor " + quote(order[i]->name) + " at byte " +
                             in_digits(order[i]->offset) + ", within tensor " + quote(order[i - 1]->name) +
                             std::string(broken));
}

}  // namespace

Result<std::optional<GgufHeader>> parse_gguf_header(std::span<const std::byte> first_bytes,
                                                    std::uint64_t file_size) {
    GgufCursor in(first_bytes, file_size);
    GgufHeader header;
    std::uint64_t keys = 0;
    const std::uint64_t tensors = read_gguf_start(in, header, keys);
    read_gguf_keys(in, keys, header);
    if (in.fine()) read_gguf_alignment(in, header);
    if (in.fine()) read_gguf_shard(in, header);
    read_gguf_tensors(in, tensors, header);
    if (in.fine()) place_gguf_tensors(in, header);
    if (!in.problem().empty()) return bad_gguf(in.problem());
    if (in.needs_more()) return std::optional<GgufHeader>();
    return std::optional(std::move(header));
}

Result<GgufHeader> parse_gguf(std::span<const std::byte> file) {
    auto header = parse_gguf_header(file, file.size());
    if (!header) return header.error();
    return **std::move(header);
}

Result<std::vector<std::string>> gguf_shard_names(const std::string& name, const GgufHeader& header) {
    if (header.shards == 1) return std::vector{name};
    const auto ending = [&](std::uint64_t shard) {
        const auto five = [](std::uint64_t number) {
            const std::string digits = in_digits(number);
            return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits;
        };
        return "-" + five(shard + 1) + "-of-" + five(header.shards) + ".gguf";
    };
    const std::string own = ending(header.shard);
    if (!name.ends_with(own))
        return Error{quote(name) + " is file " + in_digits(header.shard + 1) + " of " +
                     in_digits(header.shards) + " of a model, so its name should end in " + own +
                     ": give the files their names back"};
    constexpr std::uint64_t most = 99'999;  // five digits
    if (header.shards > most)
        return Error{quote(name) + " is one of " + in_digits(header.shards) +
                     " files of a model, which are too many"};
    const std::string stem = name.substr(0, name.size() - own.size());
    std::vector<std::string> names;
    for (std::uint64_t shard = 0; shard < header.shards; ++shard) names.push_back(stem + ending(shard));
    return names;
}

}  // namespace attn
