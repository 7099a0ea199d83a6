// Checks the texts above the matrices of a ladder.
#include <catch_amalgamated.hpp>

#include "subjects/subject.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

std::string notation(Visit& visit, Stage stage) {
    for (const auto& row : subject_in(visit).ladder()->rungs({0, 1}, {0, 1}))
        for (const Rung& rung : row)
            if (rung.stage == stage) return rung.notation;
    return "";
}

// The ladder with all stages, with a mask and a soft cap, from the source on.
std::vector<Rung> every_stage_from(Visit& visit, Source source) {
    visit.perform(SetSource{source});
    visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    visit.perform(SetSoftcap{2});
    std::vector<Rung> all;
    for (auto& row : subject_in(visit).ladder()->rungs({0, 3}, {0, 3}))
        std::ranges::move(row, std::back_inserter(all));
    return all;
}

}  // namespace

TEST_CASE("indices are in brackets, so that none is read as a power") {
    FakePage page;
    Visit visit{page};
    for (const Source source : {Source::projections, Source::qkv, Source::scores}) {
        for (const Rung& rung : every_stage_from(visit, source)) {
            INFO(rung.title << ": " << rung.notation);
            CHECK(rung.notation.find('[') != std::string::npos);
            for (const char* power : {"ⁱ", "ʲ", "ᵃ", "ᵇ", "ᶜ"})
                CHECK(rung.notation.find(power) == std::string::npos);
        }
    }
}

TEST_CASE("every computed cell offers an input to change instead") {
    FakePage page;
    Visit visit{page};
    for (const Source source : {Source::projections, Source::qkv, Source::scores}) {
        const std::vector<Rung> rungs = every_stage_from(visit, source);
        const State before = visit.state();
        for (const Rung& rung : rungs) {
            INFO(rung.title);
            const LadderEdits& edits = *subject_in(visit).ladder()->edits();
            const auto instead = edits.instead(before, {rung.stage, 1, 2});
            CHECK(instead.has_value() != edits.may_edit(before, rung.stage));
            if (!instead) continue;
            const auto after = app::apply(before, instead->command);
            REQUIRE(after);
            CHECK(edits.may_edit(*after, instead->cell.stage));
            CHECK(worked_may_pin(*after, instead->cell));
        }
    }
    const LadderEdits& edits = *subject_in(visit).ladder()->edits();
    visit.perform(OpenPreset{PresetId::cat_sat_mat});
    CHECK(edits.instead(visit.state(), {Stage::q, 0, 0})->why == "Q is computed from X · W_Q.");
    CHECK(edits.instead(visit.state(), {Stage::weight, 0, 0})->why ==
          "Weights are computed from the scores.");
}

TEST_CASE("a formula names the scores it is computed from, and the temperature") {
    FakePage page;
    Visit visit{page};
    CHECK(notation(visit, Stage::scaled) == "S[i, j] = R[i, j] / √d_k");
    CHECK(notation(visit, Stage::weight) == "A[i, ·] = softmax S[i, ·]");
    visit.perform(SetTemperature{2});
    CHECK(notation(visit, Stage::scaled) == "S[i, j] = R[i, j] / √d_k / 2.00");
    visit.perform(SetScaling{false});
    CHECK(notation(visit, Stage::scaled) == "S[i, j] = R[i, j] / 2.00");
    visit.perform(SetSoftcap{3});
    CHECK(notation(visit, Stage::weight) == "A[i, ·] = softmax C[i, ·]");
    visit.perform(SetMask{.kind = WorkedMask::Kind::causal});
    CHECK(notation(visit, Stage::masked) == "M[i, j] = C[i, j] or −∞");
    CHECK(notation(visit, Stage::weight) == "A[i, ·] = softmax M[i, ·]");
}
