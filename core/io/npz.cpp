#include "io/npz.hpp"

#include <algorithm>
#include <utility>

namespace attn {

namespace {

constexpr std::size_t first_look = 1024;  // NumPy's headers usually have 128 bytes
constexpr std::uint64_t longest_header = std::uint64_t{1} << 17;

// Reads the header, and unpacks no more of the entry than that takes.
Result<NpyHeader> header_of(const ZipEntry& entry) {
    auto start = unpack_start(entry, first_look);
    if (!start) return start.error();
    const auto needed = npy_header_size(*start, entry.size);
    if (!needed) return needed.error();
    if (*needed > longest_header)
        return Error{"this .npy file has a header of " + std::to_string(*needed) + " bytes; at most " +
                     std::to_string(longest_header) + " can be read here"};
    if (*needed > start->size()) {
        start = unpack_start(entry, static_cast<std::size_t>(*needed));
        if (!start) return start.error();
    }
    return parse_npy_header(*start, entry.size);
}

}  // namespace

Result<std::vector<NpzArray>> parse_npz(std::span<const std::byte> file) {
    constexpr std::string_view extension = ".npy";
    auto entries = parse_zip(file);
    if (!entries) return entries.error();
    if (std::ranges::any_of(*entries, [](const ZipEntry& e) { return e.name.ends_with("data.pkl"); }))
        return Error{"this is what torch.save writes; save with numpy.savez or safetensors instead"};
    std::vector<NpzArray> arrays;
    for (ZipEntry& entry : *entries) {
        if (!entry.name.ends_with(extension)) continue;
        std::string name = entry.name.substr(0, entry.name.size() - extension.size());
        auto header = header_of(entry);
        arrays.push_back({std::move(name), std::move(entry), std::move(header)});
    }
    if (arrays.empty()) return Error{"this archive holds no .npy files"};
    return arrays;
}

}  // namespace attn
