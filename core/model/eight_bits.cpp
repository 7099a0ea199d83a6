#include "model/eight_bits.hpp"

#include <algorithm>

#include "model/families.hpp"
#include "tensor/blocks.hpp"

namespace attn {

namespace {

// What becomes Q8_0: matrices of floats whose rows are whole blocks. Everything else is small, or is refused later.
bool fits_blocks(const TensorEntry& entry, bool turned) {
    const bool floats = entry.dtype == DType::f32 || entry.dtype == DType::f16 || entry.dtype == DType::bf16;
    return floats && entry.shape.size() == 2 &&
           entry.shape[turned ? 0 : 1] % block_elements(DType::q8_0) == 0;
}

// Empty if a block has a number that is not finite, or one that no scale reaches.
std::vector<std::byte> in_blocks(const TensorEntry& entry, bool turned, std::span<const std::byte> from) {
    const Index rows = entry.shape[turned ? 1 : 0], cols = entry.shape[turned ? 0 : 1];
    std::vector<float> all;
    if (turned) {
        all.resize(static_cast<std::size_t>(rows * cols));
        convert_to_f32(*entry.dtype, from, all);
    }
    std::vector<float> row(static_cast<std::size_t>(cols));
    const std::size_t row_bytes = bytes_of(DType::q8_0, cols);
    std::vector<std::byte> to(static_cast<std::size_t>(rows) * row_bytes);
    for (Index r = 0; r < rows; ++r) {
        if (turned)
            for (Index c = 0; c < cols; ++c)
                row[static_cast<std::size_t>(c)] = all[static_cast<std::size_t>(c * rows + r)];
        else
            convert_to_f32(*entry.dtype, from.data(), r * cols, row);
        if (!narrow_to_q8_0(row, std::span(to).subspan(static_cast<std::size_t>(r) * row_bytes, row_bytes)))
            return {};
    }
    return to;
}

std::size_t size_of(const TensorEntry& entry) { return static_cast<std::size_t>(entry.end - entry.begin); }

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

// What was wanted has arrived: the first 8 bytes, the whole header, or the next tensor.
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
        hold(file_.tensors[next_++]);
    }
    waiting_.clear();
    wanted_ = 0;
    for (; next_ < file_.tensors.size() && wanted_ == 0; next_ += wanted_ == 0)
        wanted_ = size_of(file_.tensors[next_].entry);
    return ok();
}

Status EightBits::read_header() {
    auto header = parse_safetensors_header(waiting_, file_.file_size);
    if (!header) return header.error();
    has_header_ = true;
    file_.data_offset = header->data_offset;
    for (TensorEntry& entry : header->tensors) {
        HeldTensor held{.entry = std::move(entry), .dtype = DType::f32, .bytes = {}};
        held.turned = lies_in_out(*rules_, held.entry.name);
        const bool in_eight = fits_blocks(held.entry, held.turned);
        if (!in_eight) held.turned = false;
        held.dtype = in_eight ? DType::q8_0 : held.entry.dtype.value_or(DType::u8);
        file_.tensors.push_back(std::move(held));
    }
    std::ranges::sort(file_.tensors, {}, [](const HeldTensor& each) { return each.entry.begin; });
    return ok();
}

void EightBits::hold(HeldTensor& held) {
    if (held.dtype == DType::q8_0) held.bytes = in_blocks(held.entry, held.turned, waiting_);
    if (!held.bytes.empty()) return;
    held.dtype = held.entry.dtype.value_or(DType::u8);
    held.turned = false;
    held.bytes = waiting_;
}

std::optional<std::uint64_t> EightBits::bytes_held() const {
    if (!has_header_) return std::nullopt;
    std::uint64_t sum = 0;
    for (const HeldTensor& held : file_.tensors)
        sum += held.dtype == DType::q8_0 ? bytes_of(held.dtype, *element_count(held.entry.shape))
                                         : size_of(held.entry);
    return sum;
}

Result<HeldFile> EightBits::finish() {
    if (!has_header_ || next_ < file_.tensors.size())
        return Error{"this .safetensors file did not arrive whole"};
    return std::move(file_);
}

}  // namespace attn
