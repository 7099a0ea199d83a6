#include "cli/trace_files.hpp"

#include <filesystem>

#include "cli/model_folder.hpp"
#include "io/json.hpp"
#include "io/npy.hpp"

namespace attn {

namespace {

// Returns the weights of every Record of a kind of attention, [layers, heads, queries, keys], or nothing.
Tensor all_weights(const Trace& trace, AttentionKind kind) {
    std::vector<const Record*> records;
    for (Index number = 0; number < trace.attentions(); ++number)
        if (const LayerAttention of = trace.attention(number); of.place.kind == kind)
            records.push_back(&of.record());
    if (records.empty()) return {};
    const Index heads = records[0]->heads(), queries = records[0]->queries(), keys = records[0]->keys();
    const auto of_head = static_cast<std::size_t>(queries * keys);
    Tensor weights({std::ssize(records), heads, queries, keys});
    std::span<float> rest = weights.values();
    for (const Record* record : records)
        for (Index head = 0; head < heads; ++head) {
            record->stage(Stage::weight, head, {0, queries}, {0, keys}, rest.first(of_head));
            rest = rest.subspan(of_head);
        }
    return weights;
}

std::int64_t bytes_of_weights(const Trace& trace) {
    std::int64_t cells = 0;
    for (Index number = 0; number < trace.attentions(); ++number) {
        const LayerAttention of = trace.attention(number);
        cells += std::int64_t{1} * of.record().heads() * of.record().queries() * of.record().keys();
    }
    return std::int64_t{sizeof(float)} * cells;
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
    const std::int64_t logits_bytes = std::int64_t{sizeof(float)} * n * config.vocab_size;
    if (auto status =
            check_memory("the attention of all heads and the logits", bytes_of_weights(trace) + logits_bytes);
        !status)
        return status.error();
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return Error{folder + ": " + failed.message()};

    std::string listing;
    const auto save = [&](const NamedTensor& named) {
        const Tensor& t = *named.tensor;
        const auto decimal = [](Index size) { return std::to_string(size); };
        listing += (listing.empty() ? "" : ",\n") + ("  {\"name\": " + json_string(named.name)) +
                   ", \"axes\": " + json_list(named.axes, json_string) +
                   ", \"shape\": " + json_list(t.shape(), decimal) + "}";
        return write_file(folder + "/" + named.name + ".npy", write_npy(t.shape(), t.values()));
    };
    std::vector<NamedTensor> tensors = trace.tensors();
    const Tensor logits = trace.logits({0, n});
    tensors.push_back({"logits", {"token", "vocabulary"}, &logits});
    using enum AttentionKind;
    const Tensor attention = all_weights(trace, trace.encoder() ? encoder : self),
                 of_decoder = all_weights(trace, decoder), of_cross = all_weights(trace, cross);
    for (const auto& [name, weights] : {std::pair{"attention", &attention},
                                        {"decoder_attention", &of_decoder},
                                        {"cross_attention", &of_cross}})
        if (weights->size() > 0) tensors.push_back({name, {"layer", "head", "query", "key"}, weights});
    for (const NamedTensor& named : tensors)
        if (auto status = save(named); !status) return status;
    listing = "[\n" + listing + "\n]\n";
    return write_file(folder + "/tensors.json", std::as_bytes(std::span(listing)));
}

}  // namespace attn
