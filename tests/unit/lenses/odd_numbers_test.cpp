// Tests every lens on a model with a NaN weight in its files: it says one sentence and does not crash.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>

#include "io/safetensors.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

Files with_nan(const std::string& tensor, std::size_t element) {
    Files files = golden_model("gpt2-f32");
    auto& bytes = files.at("model.safetensors");
    const auto read = parse_safetensors(bytes);
    REQUIRE(read);
    const TensorEntry* entry = read->header.find(tensor);
    REQUIRE(entry);
    const float odd = std::nanf("");
    std::memcpy(bytes.data() + read->header.data_offset + entry->begin + element * sizeof odd, &odd,
                sizeof odd);
    return files;
}

}  // namespace

TEST_CASE("with a NaN weight, every lens says one sentence") {
    // In W_K of the second layer, in an MLP of the first, and in a part that every token uses.
    for (const auto& [tensor, element] : {std::pair{"transformer.h.1.attn.c_attn.weight", std::size_t{20}},
                                          std::pair{"transformer.h.0.mlp.c_proj.weight", std::size_t{3}},
                                          std::pair{"transformer.wte.weight", std::size_t{1}}}) {
        CAPTURE(tensor);
        Screen screen;
        load_files(screen.visit, "odd", with_nan(tensor, element));
        screen.write_words(6);
        for (const LensEntry& lens : lens_list()) {
            CAPTURE(lens.key);
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            REQUIRE(screen.visit.state().lens == lens.key);
            const std::string& told = screen.frame.spoken();
            CAPTURE(told);
            CHECK((told.empty() || told.ends_with('.')));
            CHECK(told.find("nan") == std::string::npos);
            for (const Index layer : {Index{0}, Index{1}}) {
                screen.visit.perform(Select{{.layer = layer, .head = 1, .query = 5, .key = 2}});
                screen.settle();
                CHECK(screen.visit.state().lens == lens.key);
            }
        }
    }
}
