// Tests numbers that are not finite, in a model's weights or in a second text, in the lenses that analyse a
// model.
#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "lenses/cache/cache.hpp"
#include "lenses/circuits/circuits.hpp"
#include "lenses/heads/heads.hpp"
#include "lenses/knockout/knockout.hpp"
#include "support/small_families.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A small model with one number of one of its tensors replaced.
void open_with(Screen& screen, const char* name, const std::string& tensor, std::size_t at, float number) {
    const auto family = std::ranges::find(small_families, std::string_view(name), &SmallFamily::name);
    const ModelFiles files = files_of(*family);
    std::vector<StoredTensor> tensors = read_safetensors(files.weights.begin()->second);
    const auto found =
        std::ranges::find_if(tensors, [&](const StoredTensor& each) { return each.name.ends_with(tensor); });
    INFO(tensor);
    REQUIRE(found != tensors.end());
    REQUIRE(found->dtype == "F32");
    std::memcpy(found->bytes.data() + at * sizeof(float), &number, sizeof(float));
    load_files(screen.visit, "tiny",
               {{"config.json", files.config}, {"model.safetensors", write_safetensors(tensors)}});
    screen.page.piece = [](std::int32_t id) { return "·w" + std::to_string(id); };
    screen.write_words(6);
}

// Reads everything that a lens says about itself and about cells that it may have.
void look_at_all(Screen& screen) {
    screen.settle();
    (void)spoken(screen.visit);
    for (const Table& table : lens_in(screen.visit).tables(subject_in(screen.visit)))
        CHECK(table.values.rows >= 0);
    for (const CellKind* kind : lens_of(screen.visit.state()).cells)
        for (const Index first : {0, 1, 3})
            for (const Index second : {0, 1, 3}) (void)why(screen.visit, (*kind)(first, second, second));
    screen.draw(3);
}

}  // namespace

TEST_CASE("the effect of a weight that is not finite is shown, in every lens on a model") {
    for (const float number :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()})
        for (const char* lens : {"heads", "knockout", "layers", "circuits", "cache"}) {
            CAPTURE(number, lens);
            Screen screen;
            open_with(screen, "gpt2", "h.1.attn.c_proj.weight", 3, number);
            screen.visit.perform(OpenLens{lens});
            look_at_all(screen);
            CHECK_THAT(spoken(screen.visit), !ContainsSubstring("does not fall"));
            if (std::string_view(lens) == "heads")
                for (const heads::Part part : {heads::Part::shapes, heads::Part::writes, heads::Part::alike,
                                               heads::Part::sharing, heads::Part::latent}) {
                    heads::State next = screen.visit.state().of<heads::State>();
                    next.part = part;
                    screen.visit.perform(Set<heads::State>{next});
                    look_at_all(screen);
                }
            if (std::string_view(lens) == "circuits")
                for (Index part = 0; part < circuits::part_count; ++part) {
                    circuits::State next = screen.visit.state().of<circuits::State>();
                    next.part = static_cast<circuits::Part>(part);
                    screen.visit.perform(Set<circuits::State>{next});
                    look_at_all(screen);
                }
            if (std::string_view(lens) == "cache")
                for (const cache::Part part : {cache::Part::cost, cache::Part::bits, cache::Part::eviction}) {
                    cache::State next = screen.visit.state().of<cache::State>();
                    next.part = part;
                    screen.visit.perform(Set<cache::State>{next});
                    look_at_all(screen);
                }
            if (std::string_view(lens) == "knockout") {
                CHECK_THAT(spoken(screen.visit), ContainsSubstring("not finite"));
                screen.visit.perform(Set<knockout::State>{{.raise = 3}});
                screen.settle();
                CHECK_THAT(spoken(screen.visit), ContainsSubstring("not finite"));
            }
            if (std::string_view(lens) == "layers")
                CHECK_THAT(spoken(screen.visit), ContainsSubstring("not finite"));
        }
}

TEST_CASE(
    "heads patched from a text whose numbers are not finite say so, and none is called the one that "
    "matters") {
    Screen screen;
    // Token 7 occurs only in the second text; the model's unembedding is not its embedding.
    open_with(screen, "llama", "embed_tokens.weight", 7 * 16, std::numeric_limits<float>::quiet_NaN());
    screen.visit.perform(Compare{Comparison{.text = "other words"}});
    std::vector<std::string> pieces;
    const std::vector<std::int32_t> ids{7, 1, 2, 3, 4, 0};
    for (const std::int32_t id : ids) pieces.push_back("other" + std::to_string(id));
    screen.visit.tokens({Box::second, "other words", ids, pieces, std::ssize(ids)});
    screen.settle();
    screen.visit.perform(OpenLens{"knockout"});
    screen.visit.perform(Set<knockout::State>{{.removal = knockout::Removal::twin}});
    look_at_all(screen);
    CHECK_THAT(spoken(screen.visit),
               ContainsSubstring("Without any one of the heads, the logits are not finite"));
    screen.visit.perform(Set<knockout::State>{{.part = knockout::Part::patching}});
    look_at_all(screen);
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("In the other text the logits are not finite"));
}
