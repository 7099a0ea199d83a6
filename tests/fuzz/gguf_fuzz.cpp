// Reads any bytes as a GGUF file, as the start of a larger one, and as a model, which runs if it is small.
#include <cstddef>
#include <cstdint>
#include <span>

#include "fuzz/target.hpp"
#include "io/gguf.hpp"
#include "model/forward.hpp"

using namespace attn;

namespace {

void check_gguf(std::span<const std::byte> bytes, const GgufHeader& header) {
    std::uint64_t last = 0;
    for (const GgufTensor& tensor : header.tensors) {
        require(header.tensor(tensor.name) == &tensor);
        require(tensor.offset >= header.data_offset && tensor.offset + tensor.bytes <= bytes.size());
        last = std::max(last, tensor.offset + tensor.bytes);
    }
    require(last <= bytes.size());
    for (const GgufKey& key : header.keys) {
        require(header.find(key.name) == &key.value);
        std::uint64_t texts = 0, length = 0;
        for (const std::string_view text : key.value.texts()) {
            ++texts;
            length += text.size();
        }
        require(texts == key.value.texts().size() && length <= bytes.size());
        if (key.value.is_array && key.value.count > 0 && key.value.type != GgufType::text &&
            key.value.type != GgufType::array)
            require(key.value.type == GgufType::boolean ? key.value.at(key.value.count - 1).flag().has_value()
                                                        : key.value.at(0).bytes.size() <= 8);
    }
}

void check_gguf_start(std::span<const std::byte> bytes) {
    constexpr std::uint64_t gibibyte = std::uint64_t{1} << 30;
    const auto whole = parse_gguf(bytes);
    if (!whole) require(!whole.error().message.empty());
    // A start is never refused if the whole file is valid.
    const auto start = parse_gguf_header(bytes.first(bytes.size() / 2), bytes.size());
    require(start || !whole);
    if (const auto larger = parse_gguf_header(bytes, 5 * gibibyte); larger && *larger)
        require((*larger)->data_offset <= bytes.size() + (*larger)->alignment);
    if (whole) check_gguf(bytes, *whole);
}

void check_gguf_model(std::span<const std::byte> bytes) {
    ModelFiles files;
    files.weights["f.gguf"] = {bytes.begin(), bytes.end()};
    const auto model = Model::load(std::move(files));
    if (!model) {
        require(!model.error().message.empty());
        return;
    }
    require((*model)->gguf() != nullptr);
    if ((*model)->parameter_count() > 20'000) return;
    const auto trace = run_forward(*model, {0});
    require(trace || !trace.error().message.empty());
}

}  // namespace

FUZZ_TARGET(gguf) {
    const auto bytes = std::as_bytes(std::span(data, size));
    check_gguf_start(bytes);
    check_gguf_model(bytes);
    return 0;
}
