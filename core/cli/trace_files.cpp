#include "cli/trace_files.hpp"

#include <filesystem>

#include "cli/model_folder.hpp"
#include "io/npy.hpp"

namespace attn {

namespace {

// Returns the weights of every Record, [layers, heads, queries, keys].
Tensor all_weights(const Trace& trace) {
    const ModelConfig& config = trace.model()->config();
    const Index n = trace.tokens();
    Tensor weights({config.layers, config.heads, n, n});
    std::span<float> rest = weights.values();
    for (const LayerTrace& layer : trace.layers()) {
        for (Index head = 0; head < config.heads; ++head) {
            layer.attention.stage(Stage::weight, head, {0, n}, {0, n},
                                  rest.first(static_cast<std::size_t>(n * n)));
            rest = rest.subspan(static_cast<std::size_t>(n * n));
        }
    }
    return weights;
}

template <class Items, class Text>
std::string json_list(const Items& items, const Text& text) {
    std::string list = "[";
    for (const auto& item : items) list += (list.size() > 1 ? ", " : "") + text(item);
    return list + "]";
}

}  // namespace

Status write_trace(const Trace& trace, const std::string& folder) {
    const ModelConfig& config = trace.model()->config();
    const Index n = trace.tokens();
    const std::int64_t weights = std::int64_t{sizeof(float)} * config.layers * config.heads * n * n;
    const std::int64_t logits_bytes = std::int64_t{sizeof(float)} * n * config.vocab_size;
    if (auto status = check_memory("the attention of all heads and the logits", weights + logits_bytes);
        !status)
        return status.error();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return Error{folder + ": " + failed.message()};

    std::string listing;
    const auto save = [&](const NamedTensor& named) {
        const Tensor& t = *named.tensor;
        const auto quoted = [](const std::string& word) { return '"' + word + '"'; };
        const auto decimal = [](Index size) { return std::to_string(size); };
        listing += (listing.empty() ? "" : ",\n") + ("  {\"name\": \"" + named.name) +
                   "\", \"axes\": " + json_list(named.axes, quoted) +
                   ", \"shape\": " + json_list(t.shape(), decimal) + "}";
        return write_file(folder + "/" + named.name + ".npy", write_npy(t.shape(), t.values()));
    };
    std::vector<NamedTensor> tensors = trace.tensors();
    const Tensor logits = trace.logits({0, n}), attention = all_weights(trace);
    tensors.push_back({"logits", {"token", "vocabulary"}, &logits});
    tensors.push_back({"attention", {"layer", "head", "query", "key"}, &attention});
    for (const NamedTensor& named : tensors)
        if (auto status = save(named); !status) return status;
    listing = "[\n" + listing + "\n]\n";
    return write_file(folder + "/tensors.json", std::as_bytes(std::span(listing)));
}

}  // namespace attn
