#include "model/eight_bits.hpp"

#include <algorithm>

#include "model/families.hpp"
#include "tensor/blocks.hpp"

namespace attn {

namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

std::size_t size_of(const TensorEntry& entry) { return static_cast<std::size_t>(entry.end - entry.begin); }

// What becomes Q8_0: matrices of floats whose rows are whole blocks. Everything else is small, or is refused
// later.
bool fits_blocks(const TensorEntry& entry, bool transposed) {
    const bool floats = entry.dtype == DType::f32 || entry.dtype == DType::f16 || entry.dtype == DType::bf16;
    return floats && size_of(entry) > 0 && entry.shape.size() == 2 &&
           entry.shape[transposed ? 0 : 1] % block_elements(DType::q8_0) == 0;
}

std::size_t held_bytes(const HeldTensor& held) {
    return held.dtype == DType::q8_0 ? bytes_of(held.dtype, *element_count(held.entry.shape))
                                     : size_of(held.entry);
}

std::size_t row_bytes(const HeldTensor& held) {
    return size_of(held.entry) / static_cast<std::size_t>(held.entry.shape.front());
}

// How much of a tensor is taken at a time: some of its rows, or all of a matrix that is turned.
std::size_t piece_of(const HeldTensor& held) {
    if (held.transposed || held.dtype != DType::q8_0) return size_of(held.entry);
    const std::size_t row = row_bytes(held);
    return std::max<std::size_t>(piece_bytes / row, 1) * row;
}

}  // namespace

Status EightBits::add(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
        if (wanted_ == 0) return Error{"this .safetensors file is longer than it was said to be"};
        const std::size_t taken = std::min(wanted_ - waiting_.size(), bytes.size());
        waiting_.insert(waiting_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(taken));
        bytes = bytes.subspan(taken);
        if (waiting_.size() < wanted_) break;
        if (auto status = take(); !status) return status;
    }
    return ok();
}

// What was wanted has arrived: the first 8 bytes, the whole header, or the next piece of a tensor.
Status EightBits::take() {
    if (!has_header_) {
        const auto size = safetensors_header_size(waiting_, file_.file_size);
        if (!size) return size.error();
        if (*size > waiting_.size()) {
            wanted_ = static_cast<std::size_t>(*size);
            return ok();
        }
        if (auto status = read_header(); !status) return status;
    } else {
        HeldTensor& held = file_.tensors[next_];
        hold(held);
        taken_ += waiting_.size();
        if (taken_ == size_of(held.entry)) ++next_, taken_ = 0;
    }
    waiting_.clear();
    while (next_ < file_.tensors.size() && size_of(file_.tensors[next_].entry) == 0) ++next_;
    if (next_ == file_.tensors.size()) {
        wanted_ = 0;
        return ok();
    }
    HeldTensor& next = file_.tensors[next_];
    next.bytes.reserve(held_bytes(next));
    wanted_ = std::min(piece_of(next), size_of(next.entry) - taken_);
    waiting_.reserve(wanted_);
    return ok();
}

Status EightBits::read_header() {
    auto header = parse_safetensors_header(waiting_, file_.file_size);
    if (!header) return header.error();
    has_header_ = true;
    file_.data_offset = header->data_offset;
    for (TensorEntry& entry : header->tensors) {
        HeldTensor held{.entry = std::move(entry), .dtype = DType::q8_0, .bytes = {}};
        held.transposed = lies_in_out(*rules_, held.entry.name);
        if (!fits_blocks(held.entry, held.transposed)) {
            held.transposed = false;
            held.dtype = held.entry.dtype.value_or(DType::u8);
        }
        file_.tensors.push_back(std::move(held));
    }
    std::ranges::sort(file_.tensors, {}, [](const HeldTensor& each) { return each.entry.begin; });
    return ok();
}

void EightBits::hold(HeldTensor& held) const {
    if (held.dtype != DType::q8_0) {
        held.bytes.insert(held.bytes.end(), waiting_.begin(), waiting_.end());
        return;
    }
    const Index rows = held.transposed ? held.entry.shape.back()
                                       : static_cast<Index>(waiting_.size() / row_bytes(held)),
                cols = held.entry.shape[held.transposed ? 0 : 1];
    std::vector<float> row(static_cast<std::size_t>(cols)), all;
    if (held.transposed) {
        all.resize(static_cast<std::size_t>(rows * cols));
        convert_to_f32(*held.entry.dtype, waiting_, all);
    }
    const std::size_t before = held.bytes.size(), size = bytes_of(DType::q8_0, cols);
    held.bytes.resize(before + static_cast<std::size_t>(rows) * size);
    for (Index r = 0; r < rows; ++r) {
        if (held.transposed)
            for (Index c = 0; c < cols; ++c)
                row[static_cast<std::size_t>(c)] = all[static_cast<std::size_t>(c * rows + r)];
        else
            convert_to_f32(*held.entry.dtype, waiting_.data(), r * cols, row);
        narrow_to_q8_0(row, std::span(held.bytes).subspan(before + static_cast<std::size_t>(r) * size, size));
    }
}

std::optional<std::uint64_t> EightBits::bytes_held() const {
    if (!has_header_) return std::nullopt;
    std::uint64_t sum = 0;
    for (const HeldTensor& held : file_.tensors) sum += held_bytes(held);
    return sum;
}

Result<HeldFile> EightBits::finish() {
    if (!has_header_ || next_ < file_.tensors.size())
        return Error{"this .safetensors file did not arrive whole"};
    return std::move(file_);
}

}  // namespace attn
