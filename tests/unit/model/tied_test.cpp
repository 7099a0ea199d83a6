// Tests a matrix with several names, of which a file holds one or all, and names that wrappers and indices
// add.
#include <cstring>

#include "io/quote.hpp"
#include "support/small_families.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

struct TiedNames {
    const char* family;
    const char* embedding;            // name in the files of small families
    std::vector<const char*> others;  // names that files may have instead
};
const std::vector<TiedNames> tied_names{
    {"gpt2", "wte.weight", {"lm_head.weight"}},
    {"qwen3", "embed_tokens.weight", {"lm_head.weight"}},
    {"gemma2", "embed_tokens.weight", {"lm_head.weight"}},
    {"falcon", "word_embeddings.weight", {"lm_head.weight"}},
    {"opt", "embed_tokens.weight", {"lm_head.weight"}},
    {"bert", "embeddings.word_embeddings.weight", {"cls.predictions.decoder.weight"}},
    {"roberta", "embeddings.word_embeddings.weight", {"lm_head.decoder.weight"}},
    {"distilbert", "embeddings.word_embeddings.weight", {"vocab_projector.weight"}},
    {"t5", "shared.weight", {"lm_head.weight", "decoder.embed_tokens.weight", "encoder.embed_tokens.weight"}},
};

ModelFiles small_files(std::string_view name) {
    const auto all = all_small_families();
    return files_of(
        *std::ranges::find(all, name, [](const SmallFamily& each) { return std::string_view(each.name); }));
}

template <class Change>
ModelFiles with_stored(ModelFiles files, const Change& change) {
    Bytes& file = files.weights.begin()->second;
    std::vector<StoredTensor> tensors = read_safetensors(file);
    change(tensors);
    file = write_safetensors(tensors);
    return files;
}

StoredTensor& stored_as(std::vector<StoredTensor>& tensors, std::string_view name) {
    const auto found = std::ranges::find(tensors, name, &StoredTensor::name);
    REQUIRE(found != tensors.end());
    return *found;
}

std::vector<float> logits_of(ModelFiles files, std::vector<std::string>* notes = nullptr) {
    const auto model = Model::load(std::move(files));
    INFO((model ? "" : model.error().message));
    REQUIRE(model);
    if (notes) *notes = (*model)->notes();
    const auto run = run_text(*model, {3, 1, 4, 1, 5});
    REQUIRE(run);
    const Tensor last = (*run)->logits({0, 5});
    return {last.values().begin(), last.values().end()};
}

std::string tied_refusal(ModelFiles files) {
    const auto model = Model::load(std::move(files));
    REQUIRE(!model);
    return model.error().message;
}

}  // namespace

TEST_CASE("a tied matrix is found under each of its names", "[model]") {
    for (const TiedNames& each : tied_names)
        for (const char* other : each.others) {
            CAPTURE(each.family, other);
            std::vector<std::string> notes;
            CHECK(logits_of(
                      with_stored(small_files(each.family),
                                  [&](auto& tensors) { stored_as(tensors, each.embedding).name = other; }),
                      &notes) == logits_of(small_files(each.family)));
            CHECK(notes.empty());
        }
    // The bias that a masked language head shares with its decoder.
    CHECK(logits_of(with_stored(small_files("bert"), [](auto& tensors) {
              stored_as(tensors, "cls.predictions.bias").name = "cls.predictions.decoder.bias";
          })) == logits_of(small_files("bert")));
}

TEST_CASE("an unembedding in the file counts if it differs from the embedding", "[model]") {
    for (const TiedNames& each : tied_names) {
        CAPTURE(each.family);
        const char* head = each.others.front();
        const auto with_head = [&](float factor) {
            return with_stored(small_files(each.family), [&](auto& tensors) {
                StoredTensor copy = stored_as(tensors, each.embedding);
                copy.name = head;
                std::vector<float> values(copy.bytes.size() / sizeof(float));
                std::memcpy(values.data(), copy.bytes.data(), copy.bytes.size());
                for (float& value : values) value *= factor;
                std::memcpy(copy.bytes.data(), values.data(), copy.bytes.size());
                tensors.push_back(std::move(copy));
            });
        };
        std::vector<std::string> notes;
        const auto tied = logits_of(small_files(each.family));
        CHECK(logits_of(with_head(1), &notes) == tied);
        CHECK(notes.empty());
        const auto own = logits_of(with_head(2), &notes);
        REQUIRE(notes.size() == 1);
        CHECK_THAT(notes.front(),
                   ContainsSubstring(quote(head)) && ContainsSubstring("the head of the file is used"));
        CHECK(own != tied);
    }
    const auto odd = with_stored(small_files("qwen3"), [](auto& tensors) {
        tensors.push_back({"lm_head.weight", "F32", {1}, Bytes(4)});
    });
    CHECK_THAT(tied_refusal(odd), ContainsSubstring("tensor 'lm_head.weight' has shape 1, expected 20×16"));
}

TEST_CASE("an index may list tensors that no run needs, and must have those that it needs", "[model]") {
    const auto indexed = [](ModelFiles files, const std::vector<std::string>& more,
                            const std::string& lacking = "") {
        nlohmann::json map = nlohmann::json::object();
        for (const StoredTensor& each : read_safetensors(files.weights.begin()->second))
            map[each.name] = "model.safetensors";
        for (const std::string& name : more) map[name] = "model.safetensors";
        const std::string text = nlohmann::json{{"weight_map", map}}.dump();
        const auto bytes = as_bytes(text);
        files.index.emplace(bytes.begin(), bytes.end());
        if (lacking.empty()) return files;
        return with_stored(std::move(files), [&](auto& tensors) {
            std::erase_if(tensors, [&](const StoredTensor& each) { return each.name == lacking; });
        });
    };
    CHECK(logits_of(indexed(small_files("qwen3"),
                            {"lm_head.weight", "model.layers.0.self_attn.rotary_emb.inv_freq", "adapter"})) ==
          logits_of(small_files("qwen3")));
    CHECK(logits_of(indexed(with_stored(small_files("opt"),
                                        [](auto& tensors) {
                                            stored_as(tensors, "embed_tokens.weight").name = "lm_head.weight";
                                        }),
                            {"model.decoder.embed_tokens.weight"})) == logits_of(small_files("opt")));
    CHECK(tied_refusal(indexed(small_files("qwen3"), {}, "layers.1.mlp.up_proj.weight")) ==
          "model.safetensors.index.json says that tensor 'layers.1.mlp.up_proj.weight' is in "
          "'model.safetensors', but it is not there");
}

TEST_CASE("prefixes from wrappers are dropped, other names are reported", "[model]") {
    for (const char* prefix : {"_orig_mod.", "module.", "module._orig_mod.", "_orig_mod.model.",
                               "module.model.", "model._orig_mod."}) {
        CAPTURE(prefix);
        CHECK(logits_of(with_stored(small_files("qwen3"), [&](auto& tensors) {
                  for (StoredTensor& one : tensors) one.name = prefix + one.name;
              })) == logits_of(small_files("qwen3")));
    }
    CHECK(logits_of(with_stored(small_files("gpt2"), [](auto& tensors) {
              for (StoredTensor& each : tensors)
                  if (each.name.starts_with("h.")) each.name.insert(4, "_orig_mod.");
          })) == logits_of(small_files("gpt2")));
    CHECK_THAT(tied_refusal(with_stored(small_files("qwen3"),
                                        [](auto& tensors) {
                                            for (StoredTensor& each : tensors)
                                                each.name = "base_model.model." + each.name;
                                        })),
               ContainsSubstring("there is 'base_model.model.embed_tokens.weight'"));
}
