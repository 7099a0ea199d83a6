#include <algorithm>
#include <memory>

#include "cases.hpp"
#include "gguf_file.hpp"
#include "model/forward.hpp"

namespace attn::bench {

Case gguf(std::string_view kind, bool token) {
    constexpr Index prompt = 512, most = 640;
    struct Data {
        std::shared_ptr<const Model> model;
        std::vector<std::int32_t> ids, ids_so_far;
        Bytes file;
        std::string text;
        std::shared_ptr<const Trace> read, trace;
        Tensor logits;
    };
    const auto data = std::make_shared<Data>();
    Bytes file = gguf_file(kind);
    data->file = file;  // the others take it; the model puts its own into another order
    const std::span<const std::byte> bytes = data->file;
    ModelFiles files{};
    files.weights["seeded.gguf"] = std::move(file);
    data->model = *Model::load(std::move(files));
    data->ids = data->ids_so_far = gguf_ids(prompt);
    data->text = gguf_text(data->ids);
    data->logits = Tensor({1, data->model->config().vocab_size});

    const auto read = [data](const Kernels& kernels) {
        data->trace = nullptr;  // frees it before the next one takes as much memory
        data->trace = *run_forward(data->model, data->ids, kernels);
        data->ids_so_far = data->ids;
    };
    const auto take_logits = [data] {
        const Index end = std::ssize(data->ids_so_far);
        std::ranges::copy(data->trace->logits({end - 1, end}).values(), data->logits.data());
    };
    // A token more, of the text once again, so that all contestants read the same; after some, the text is as
    // short as it was.
    const auto go_on = [=](const Kernels& kernels) {
        if (!data->trace || std::ssize(data->ids_so_far) == most) {
            read(kernels);
            take_logits();
        }
        data->ids_so_far.push_back(data->ids[data->ids_so_far.size() - static_cast<std::size_t>(prompt)]);
        data->trace = *ForwardPass::start(data->trace, data->ids_so_far)->finish();
        take_logits();
    };
    const std::string name = "GPT-2 small " + std::string(kind) + (token ? ": a token" : ": 512 tokens");
    const auto run = [=](const Kernels& kernels) {
        if (token) return go_on(kernels);
        read(kernels);
        take_logits();
    };
    return {name,
            0,
            run,
            {{"gguf", {std::ssize(bytes)}, bytes},
             {"ids", {prompt}, std::as_bytes(std::span(data->ids))},
             {"text", {std::ssize(data->text)}, std::as_bytes(std::span(data->text))}},
            data->logits.values()};
}

}  // namespace attn::bench
