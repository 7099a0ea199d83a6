// Tests a model that would not fit into a tab: its matrices are rounded to 8 bits as its files arrive.
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// Hands over the bundled model's files, with its weights in pieces.
Status rounded(FileIntake& intake, std::span<const std::byte> weights, std::uint64_t size) {
    const auto config = read_file(source_dir() / "models/storyteller/config.json");
    const auto buffer = intake.buffer("config.json", config.size());
    REQUIRE(buffer);
    std::ranges::copy(config, *buffer);
    while (!weights.empty()) {
        const auto part = weights.first(std::min<std::size_t>(weights.size(), 50'000));
        if (auto status = intake.add_rounded("model.safetensors", size, part); !status) return status;
        weights = weights.subspan(part.size());
    }
    return ok();
}

}  // namespace

TEST_CASE("a model is held in 8 bits on request, and says so", "[eight]") {
    const auto weights = read_file(source_dir() / "models/storyteller/model.safetensors");
    FakePage page;
    Visit visit(page);
    FileIntake& intake = *visit.intake(FileKind::model);
    intake.name("storyteller", false);
    REQUIRE(rounded(intake, weights, weights.size()));
    REQUIRE(intake.arrived());
    CHECK(std::ranges::any_of(page.notices, [](const std::string& notice) {
        return notice.find("its matrices are held in 8 bits") != std::string::npos;
    }));
    visit.perform(SetText{"abcab"});
    visit.tokens({Box::first, "abcab", {1, 2, 3, 1, 2}, {"a", "b", "c", "a", "b"}, 5});
    while (visit.work(100)) continue;
    // The component of the embedding that its file holds in 16 bits, starting at byte 8 + header.
    const auto why = explained(visit, RunCell{Stage::w_token, 2, 5});
    REQUIRE(why);
    CHECK_THAT(why->note, Catch::Matchers::ContainsSubstring("held here in 8 bits"));
    CHECK(std::ranges::any_of(why->steps, [](const auto& step) { return step.arithmetic == "d · q"; }));
}

TEST_CASE("truncated weights, or weights before their configuration, are refused", "[eight]") {
    const auto weights = read_file(source_dir() / "models/storyteller/model.safetensors");
    FakePage page;
    Visit visit(page);
    FileIntake& intake = *visit.intake(FileKind::model);
    intake.name("storyteller", false);
    const auto early = intake.add_rounded("model.safetensors", weights.size(), weights);
    REQUIRE_FALSE(early);
    CHECK(early.error().message == "config.json has not arrived.");
    intake.discard();
    REQUIRE(rounded(intake, std::span(weights).first(weights.size() / 2), weights.size()));
    CHECK_FALSE(intake.arrived());
    intake.discard();
    const auto cut = rounded(intake, std::span(weights).first(weights.size() / 2), weights.size() / 2);
    REQUIRE_FALSE(cut);
    CHECK_THAT(cut.error().message, Catch::Matchers::StartsWith("model.safetensors: this .safetensors file"));
}
