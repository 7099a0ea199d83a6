// Tests the same sentence in two models that share a tokenizer.
#include "app/link.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/lens.hpp"
#include "support/small_families.hpp"
#include "support/translator.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

// The weights of gpt2-f32 as one wide head instead of three.
Files with_one_head() {
    Files files = golden_model("gpt2-f32");
    const auto& given = files["config.json"];
    std::string config(reinterpret_cast<const char*>(given.data()), given.size());
    const std::string three = "\"n_head\": 3";
    REQUIRE(config.find(three) != std::string::npos);
    config.replace(config.find(three), three.size(), "\"n_head\": 1");
    const auto* bytes = reinterpret_cast<const std::byte*>(config.data());
    files["config.json"].assign(bytes, bytes + config.size());
    return files;
}

// Splits the sentence as the page does once a model is open.
void split_again(Visit& visit) {
    visit.tokens({Box::first, "abcab", {1, 2, 3, 1, 2}, {"a", "b\n", "c\\", "a", "b"}, 5});
    finish(visit);
}

const Missing* missing_in(const Visit& visit, std::optional<Missing>& kept) {
    kept = lens_in(visit).missing(subject_in(visit));
    return kept ? &*kept : nullptr;
}

}  // namespace

TEST_CASE("two models read a sentence, and each has numbers of its own") {
    FakePage lone_page, page;
    Visit lone(lone_page), visit(page);
    open_files(lone, with_one_head());
    const auto expected = sentence_in(lone).run()->record(1)->weights(0, 4);

    open_golden(visit, "gpt2-f32");
    visit.perform(OpenSubject{sentence_subject});
    const auto before = sentence_in(visit).run()->record(1)->weights(2, 4);
    visit.perform(Compare{Comparison{.text = "ab"}});
    visit.tokens({Box::second, "ab", {1, 2}, {"a", "b"}, 2});
    finish(visit);
    CHECK(second_of(subject_in(visit)));
    visit.perform(Compare{Comparison{.model = ""}});
    std::optional<Missing> kept;
    REQUIRE(missing_in(visit, kept));
    CHECK(kept->sentence ==
          "Drop the folder of another model with the same tokenizer onto the page: it reads the sentence "
          "beside tiny.");

    load_files(visit, "other", with_one_head(), true);
    split_again(visit);
    CHECK(sentence_in(visit).model_name() == "tiny");
    CHECK_FALSE(missing_in(visit, kept));
    CHECK(subject_in(visit).comparing()->comparison_names() ==
          std::pair<std::string, std::string>("tiny", "other"));
    const Attention* second = second_of(subject_in(visit));
    REQUIRE(second);
    CHECK(second->heads() == 1);
    CHECK(second->record(1)->weights(0, 4) == expected);
    CHECK(sentence_in(visit).run()->record(1)->weights(2, 4) == before);

    // The only head stands beside head 2.
    visit.perform(Select{{.layer = 1, .head = 2, .query = 4, .key = {}}});
    const auto why = explained(visit, RunCell{Stage::weight, 4, 1, true});
    REQUIRE(why);
    CHECK(why->f32 == static_cast<double>(expected[1]));
    CHECK(why->provenance.ends_with("computed by other"));
    const auto difference =
        lens_in(visit).explain(subject_in(visit), {{1, 2}, compare::cells::difference(4, 1)});
    REQUIRE(difference);
    CHECK(difference->f32 == static_cast<double>(before[1]) - static_cast<double>(expected[1]));
    CHECK_FALSE(lens_in(visit).spoken(subject_in(visit)).empty());
    CHECK(lens_in(visit).tables(subject_in(visit)).size() == 3);

    SECTION("a link names the second model, and asks for it") {
        const std::string link = to_fragment(visit.state());
        CHECK(link.find("with.model=other") != std::string::npos);
        FakePage other_page;
        Visit other(other_page);
        open_golden(other, "gpt2-f32");
        other.open_fragment(link);
        REQUIRE(other_page.notices.size() == 1);
        CHECK(other_page.notices.front() ==
              "Compared with the model 'other': drop its folder onto the page to see the same.");
        REQUIRE(missing_in(other, kept));
        CHECK(kept->sentence == "Drop the folder of other onto the page: it reads the sentence beside tiny.");
        load_files(other, "other", with_one_head(), true);
        split_again(other);
        CHECK(to_fragment(other.state()) == link);
        CHECK(second_of(subject_in(other)));
    }
    SECTION("it is removed when the comparison ends, and undo says where it went") {
        visit.perform(Compare{});
        CHECK_FALSE(second_of(subject_in(visit)));
        visit.undo();
        REQUIRE(page.notices.size() == 1);
        CHECK(missing_in(visit, kept));
    }
    SECTION("a second text replaces it, in the first model") {
        visit.perform(Compare{Comparison{.text = "ab"}});
        CHECK_FALSE(second_of(subject_in(visit)));
        visit.tokens({Box::second, "ab", {1, 2}, {"a", "b"}, 2});
        finish(visit);
        REQUIRE(second_of(subject_in(visit)));
        CHECK(second_of(subject_in(visit))->heads() == 3);
    }
    SECTION("nothing is reused from another model's run") {
        for (const Offer& offer : sentence_in(visit).offers())
            CHECK(offer.label.find("other text") == std::string::npos);
    }
}

TEST_CASE("a model with another tokenizer is not compared with one") {
    FakePage page;
    Visit visit(page);
    open_golden(visit, "gpt2-f32");
    visit.perform(OpenSubject{sentence_subject});
    visit.perform(Compare{Comparison{.model = ""}});
    FileIntake* intake = visit.intake(FileKind::model);
    intake->name("other", false);
    for (const auto& [name, bytes] : with_one_head()) {
        auto buffer = intake->buffer(name, bytes.size());
        REQUIRE(buffer);
        std::ranges::copy(bytes, *buffer);
    }
    CHECK_FALSE(intake->arrived());
    REQUIRE(page.notices.size() == 1);
    CHECK(page.notices.front() ==
          "other has other tokens than tiny, so they cannot be compared word by word. Open a model with the "
          "same "
          "tokenizer, or end the comparison first.");
    CHECK(sentence_in(visit).model_name() == "tiny");
    CHECK_FALSE(second_of(subject_in(visit)));
    visit.perform(Compare{});
    load_files(visit, "other", with_one_head());
    CHECK(sentence_in(visit).model_name() == "other");
}

namespace {

Files files_for_page(const SmallFamily& family, std::uint64_t seed) {
    const ModelFiles files = files_of(family, seed);
    return as_opened(files);
}

std::shared_ptr<const Model> with_other_weights(const SmallFamily& family) {
    auto model = Model::load(files_of(family, 2));
    REQUIRE(model);
    return *model;
}

}  // namespace

TEST_CASE("two masked language models fill in the same mask independently") {
    const auto family = std::ranges::find(small_families, std::string_view("bert"), &SmallFamily::name);
    FakePage page;
    page.special = {.mask = 4, .separator = 3, .all = {2, 3, 4}};
    Visit visit(page);
    const std::vector<std::int32_t> ids{2, 7, 4, 3, 9, 3}, segments{0, 0, 0, 0, 1, 1};
    const auto give = [&] {
        visit.tokens({Box::first, "a pair", ids, {"[CLS]", "w7", "[MASK]", "[SEP]", "w9", "[SEP]"}, 6});
        finish(visit);
    };
    load_files(visit, "tiny", files_for_page(*family, 1));
    give();
    visit.perform(Compare{Comparison{.model = ""}});
    load_files(visit, "other", files_for_page(*family, 2), true);
    give();
    const Attention* second = second_of(subject_in(visit));
    REQUIRE(second);
    const auto expected = run_forward(with_other_weights(*family), ids, default_kernels(), segments);
    REQUIRE(expected);
    CHECK(second->trace()->final_residual() == (*expected)->final_residual());
    CHECK(std::ranges::equal(second->trace()->segments(), segments));
    CHECK(sentence_in(visit).run()->run->final_residual() != (*expected)->final_residual());
    CHECK(sentence_in(visit).run()->predicted() == 2);
    std::optional<Missing> kept;
    CHECK_FALSE(missing_in(visit, kept));
    visit.perform(Select{{1, 1, 2, {}, {}}});
    const auto why = explained(visit, RunCell{Stage::weight, 2, 1, true});
    REQUIRE(why);
    CHECK(why->f32 == static_cast<double>((*expected)->attention(1).record().weights(1, 2)[1]));
    CHECK(page.notices.empty());
}

TEST_CASE("two encoder–decoders read and write the same two texts") {
    for (const SmallFamily& family : small_encoder_decoders) {
        CAPTURE(family.name);
        FakePage page;
        Visit visit(page);
        const std::vector<std::int32_t> read{5, 9, 13, 7, 1}, written{4, 11, 6};
        open_encoder_decoder(visit, family, read, written);
        visit.perform(Compare{Comparison{.model = ""}});
        load_files(visit, "other", files_for_page(family, 2), true);
        const auto give = [&](Box box, const std::string& text, const std::vector<std::int32_t>& ids) {
            std::vector<std::string> pieces;
            for (const std::int32_t id : ids) pieces.push_back("·w" + std::to_string(id));
            visit.tokens({box, text, ids, pieces, std::ssize(ids)});
        };
        give(Box::first, "what is read", read);
        give(Box::second, "what is written", written);
        finish(visit);
        const Attention* second = second_of(subject_in(visit));
        REQUIRE(second);
        const auto expected =
            run_forward(with_other_weights(family), read, default_kernels(), {}, {0, 4, 11, 6});
        REQUIRE(expected);
        CHECK(second->trace()->final_residual() == (*expected)->final_residual());
        CHECK(sentence_in(visit).run()->run->final_residual() != (*expected)->final_residual());
        // Compares a head of each kind of attention with the same head of the other model.
        const ModelConfig& config = sentence_in(visit).model()->config();
        std::optional<Missing> kept;
        for (const Index layer : {Index{0}, config.layers, config.layers + config.decoder_layers}) {
            CAPTURE(layer);
            visit.perform(Select{{layer, 1, 3, {}, {}}});
            CHECK_FALSE(missing_in(visit, kept));
            const auto why = explained(visit, RunCell{Stage::weight, 3, 1, true});
            REQUIRE(why);
            CHECK(why->f32 == static_cast<double>((*expected)->attention(layer).record().weights(1, 3)[1]));
            CHECK(why->provenance.ends_with("computed by other"));
            CHECK(lens_in(visit).tables(subject_in(visit)).size() == 3);
        }
        CHECK(page.notices.empty());
    }
}
