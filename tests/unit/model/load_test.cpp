#include <functional>

#include "model/forward.hpp"
#include "model/generate.hpp"
#include "models.hpp"

using namespace attn;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

using Damage = std::function<void(std::vector<StoredTensor>&)>;

Result<std::shared_ptr<const Model>> load_damaged(const std::string& name, const Damage& damage) {
    ModelFiles files = read_model(golden_folder(name));
    Bytes& file = files.weights.begin()->second;
    std::vector<StoredTensor> tensors = read_safetensors(file);
    damage(tensors);
    file = write_safetensors(tensors);
    return Model::load(std::move(files));
}

std::string refusal(const Result<std::shared_ptr<const Model>>& model) {
    REQUIRE(!model);
    return model.error().message;
}

StoredTensor& named(std::vector<StoredTensor>& tensors, const std::string& name) {
    const auto place = std::ranges::find(tensors, name, &StoredTensor::name);
    REQUIRE(place != tensors.end());
    return *place;
}

void set_config(ModelFiles& files, const std::string& key, const nlohmann::json& value) {
    const std::string text(reinterpret_cast<const char*>(files.config.data()), files.config.size());
    auto config = nlohmann::json::parse(text, nullptr, false);
    config[key] = value;
    const std::string changed = config.dump();
    const auto bytes = as_bytes(changed);
    files.config.assign(bytes.begin(), bytes.end());
}

}  // namespace

TEST_CASE("a model describes its contents", "[model]") {
    const auto model = load(golden_folder("gpt2-f32"));
    CHECK(model->config().layers == 2);
    const std::int64_t block = 2 * 2 * 18 + 18 * 54 + 54 + 18 * 18 + 18 + 2 * 18 * 72 + 72 + 18;
    CHECK(model->parameter_count() == 31 * 18 + 18 * 18 + 2 * block + 2 * 18);
    CHECK(model->memory_bytes() ==
          static_cast<std::int64_t>(read_file(golden_folder("gpt2-f32") / "model.safetensors").size()));

    const Weight* weight = model->weight("h.1.attn.c_attn.weight");
    REQUIRE(weight);
    CHECK(weight->axes == std::vector<std::string>{"d_model", "qkv"});
    CHECK(weight->shape == Shape{18, 54});
    CHECK(weight->file == "model.safetensors");
    const Bytes file = read_file(golden_folder("gpt2-f32") / "model.safetensors");
    CHECK(std::ranges::equal(weight->bytes, std::span(file).subspan(weight->offset, weight->bytes.size())));
    CHECK(model->weight("h.2.attn.c_attn.weight") == nullptr);
}

TEST_CASE("missing tensors are named", "[model]") {
    const auto one = load_damaged("gpt2-f32", [](auto& tensors) {
        std::erase_if(tensors, [](const StoredTensor& t) { return t.name == "transformer.h.1.ln_2.bias"; });
    });
    CHECK(refusal(one) == "the weights lack tensor 'h.1.ln_2.bias' (18), for which config.json asks");
    const auto many = load_damaged("gpt2-f32", [](auto& tensors) {
        std::erase_if(tensors, [](const StoredTensor& t) { return t.name.starts_with("transformer.h.1."); });
    });
    CHECK_THAT(refusal(many),
               ContainsSubstring("'h.1.ln_1.weight' (18)") && ContainsSubstring(" and 9 more"));

    ModelFiles untied = read_model(golden_folder("gpt2-f32"));
    set_config(untied, "tie_word_embeddings", false);
    CHECK(refusal(Model::load(std::move(untied))) ==
          "the weights lack tensor 'lm_head.weight' (31×18), for which config.json asks");
}

TEST_CASE("wrong shapes are reported with config.json's requirement", "[model]") {
    const auto transposed = load_damaged("gpt2-f32", [](auto& tensors) {
        named(tensors, "transformer.h.0.attn.c_attn.weight").shape = {54, 18};
    });
    CHECK(refusal(transposed) ==
          "model.safetensors: tensor 'transformer.h.0.attn.c_attn.weight' has shape 54×18, expected 18×54 "
          "(d_model × qkv) by config.json");
}

TEST_CASE("element types other than F32, F16 and BF16 are refused by name", "[model]") {
    for (const char* dtype : {"F64", "I8", "F8_E4M3"}) {
        const auto model = load_damaged("gpt2-f32", [&](auto& tensors) {
            StoredTensor& tensor = named(tensors, "transformer.ln_f.weight");
            tensor.dtype = dtype;
            tensor.bytes.resize(18 * (dtype[0] == 'F' && dtype[1] == '6' ? 8 : 1));
        });
        CHECK_THAT(refusal(model),
                   ContainsSubstring("model.safetensors: tensor 'transformer.ln_f.weight' holds " +
                                     std::string(dtype) + " values"));
    }
}

TEST_CASE("NaN weights are loaded and reported", "[model]") {
    const auto model = load_damaged("gpt2-f32", [](auto& tensors) {
        Bytes& bytes = named(tensors, "transformer.h.0.mlp.c_fc.bias").bytes;
        for (std::size_t i = 0; i < 12; ++i) bytes[i] = std::byte{0xff};
    });
    REQUIRE(model);
    CHECK((*model)->notes() == std::vector<std::string>{"tensor 'h.0.mlp.c_fc.bias' holds 3 NaN values"});
    const auto trace = run_forward(*model, {1, 2});
    REQUIRE(trace);
    CHECK(std::isnan((*trace)->logits({0, 1}).data()[0]));
    auto generator = Generator::start(*trace, {});
    REQUIRE(generator);
    const auto id = generator->next();
    REQUIRE(!id);
    CHECK_THAT(id.error().message, ContainsSubstring("no token can be chosen"));

    const auto half = load_damaged("mistral-window-f16", [](auto& tensors) {
        Bytes& bytes = named(tensors, "norm.weight").bytes;
        bytes[0] = std::byte{0x00}, bytes[1] = std::byte{0x7c};  // infinity is not NaN
        bytes[2] = std::byte{0x01}, bytes[3] = std::byte{0xfc};
    });
    REQUIRE(half);
    CHECK((*half)->notes() == std::vector<std::string>{"tensor 'norm.weight' holds 1 NaN value"});
}

TEST_CASE("prefixes are optional, buffers are ignored, unknown tensors are noted", "[model]") {
    const auto plain = load_damaged("gpt2-f32", [](auto& tensors) {
        for (StoredTensor& t : tensors) t.name = t.name.substr(std::string("transformer.").size());
    });
    REQUIRE(plain);
    CHECK((*plain)->notes().empty());

    const auto odd = load_damaged("qwen2-linear-f32", [](auto& tensors) {
        tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, Bytes(4)});
        tensors.push_back({"model.layers.0.adapter", "F32", {1}, Bytes(4)});
    });
    REQUIRE(odd);
    CHECK((*odd)->notes() ==
          std::vector<std::string>{"not used by this architecture: 'model.layers.0.adapter'"});

    const auto further = load_damaged("qwen2-linear-f32", [](auto& tensors) {
        tensors.push_back({"model.layers.17.mlp.up_proj.weight", "F32", {1}, Bytes(4)});
        tensors.push_back({"model.layers.17.adapter", "F32", {1}, Bytes(4)});
    });
    REQUIRE(further);
    CHECK((*further)->notes() ==
          std::vector<std::string>{"not used by this architecture: 'model.layers.17.adapter'",
                                   "config.json asks for fewer layers than the weights have, which leaves "
                                   "'model.layers.17.mlp.up_proj.weight' unused"});

    const auto twice = load_damaged(
        "qwen2-linear-f32", [](auto& tensors) { tensors.push_back({"norm.weight", "F32", {1}, Bytes(4)}); });
    CHECK_THAT(refusal(twice),
               ContainsSubstring("'norm.weight'") && ContainsSubstring("'model.norm.weight'"));
}

TEST_CASE("shards are found by the index", "[model]") {
    const std::string name = "llama-sharded-bf16", second = "model-00002-of-00003.safetensors";
    ModelFiles missing = read_model(golden_folder(name));
    missing.weights.erase(second);
    CHECK(refusal(Model::load(std::move(missing))) ==
          "model.safetensors.index.json names the file '" + second + "', which is missing");

    ModelFiles swapped = read_model(golden_folder(name));
    std::swap(swapped.weights[second], swapped.weights["model-00001-of-00003.safetensors"]);
    CHECK_THAT(refusal(Model::load(std::move(swapped))),
               ContainsSubstring("says that tensor") && ContainsSubstring("but it is not there"));

    ModelFiles unasked = read_model(golden_folder(name));
    unasked.weights["consolidated.safetensors"] = Bytes(3);
    CHECK(Model::load(std::move(unasked)));

    ModelFiles none = read_model(golden_folder(name));
    none.index.reset();
    none.weights.clear();
    CHECK(refusal(Model::load(std::move(none))) == "there is no .safetensors file with the weights");
}

TEST_CASE("files that do not parse are named", "[model]") {
    ModelFiles broken = read_model(golden_folder("gpt2-f32"));
    broken.weights["model.safetensors"].resize(100);
    CHECK_THAT(refusal(Model::load(std::move(broken))), ContainsSubstring("model.safetensors: "));
    ModelFiles no_config = read_model(golden_folder("gpt2-f32"));
    no_config.config.clear();
    CHECK_THAT(refusal(Model::load(std::move(no_config))), ContainsSubstring("config.json"));
    ModelFiles foreign = read_model(golden_folder("gpt2-f32"));
    set_config(foreign, "model_type", "mamba");
    CHECK_THAT(refusal(Model::load(std::move(foreign))), ContainsSubstring("mamba"));
}
