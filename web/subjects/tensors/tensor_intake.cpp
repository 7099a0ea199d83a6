#include "subjects/tensors/tensor_intake.hpp"

#include <cstdlib>

namespace attn::app {

std::uint64_t total_size(const std::vector<TensorFile>& files) {
    std::uint64_t sum = 0;
    for (const TensorFile& file : files) sum += file.size;
    return sum;
}

std::vector<std::string> names_of(const std::vector<TensorFile>& files) {
    std::vector<std::string> names;
    for (const TensorFile& file : files) names.push_back(file.name);
    return names;
}

std::string size_text(std::uint64_t bytes) {
    constexpr std::uint64_t mega = 1'000'000;
    if (bytes < 1000 * mega) return std::to_string((bytes + mega - 1) / mega) + " MB";
    const auto tenths = (bytes + 50 * mega) / (100 * mega);
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " GB";
}

Result<std::byte*> TensorIntake::buffer(const std::string& file, std::uint64_t size, std::uint64_t open) {
    const std::uint64_t arrived = total_size(files_);
    if (size > bytes_limit || arrived + size > bytes_limit)
        return Error{file + " is " + size_text(size) + "; a browser tab can hold tensors of up to " +
                     size_text(bytes_limit) + " in total: save fewer layers, or float16"};
    const std::string small =
        ": close what is open, or save fewer layers, or float16, for a browser tab has no more than 2 GB";
    if (open + arrived + size > bytes_limit)
        return Error{file + " (" + size_text(size) + ") does not fit beside the " + size_text(open) +
                     " that are open" + small};
    // A vector would first write to all of it.
    auto* room = static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(size) + 1));
    if (!room) return Error{"There is no memory left for " + file + " (" + size_text(size) + ")" + small};
    files_.push_back(
        {file, std::shared_ptr<const std::byte[]>(room, FreeBytes{}), static_cast<std::size_t>(size)});
    return room;
}

}  // namespace attn::app
