// The same sentence in two models that have one tokenizer.
#include "app/link.hpp"
#include "lenses/lens.hpp"
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

// As the page splits the sentence once a model is open.
void split_again(Visit& visit) {
    visit.tokens({Box::first, "abcab", {1, 2, 3, 1, 2}, {"a", "b\n", "c\\", "a", "b"}, 5});
    finish(visit);
}

const Missing* missing_in(const Visit& visit, std::optional<Missing>& kept) {
    kept = lens_in(visit).missing(subject_in(visit));
    return kept ? &*kept : nullptr;
}

}  // namespace

TEST_CASE("a sentence is read by two models, and each has numbers of its own") {
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
    CHECK(subject_in(visit).second());
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
    CHECK(subject_in(visit).comparison_names() == std::pair<std::string, std::string>("tiny", "other"));
    const Attention* second = subject_in(visit).second();
    REQUIRE(second);
    CHECK(second->heads() == 1);
    CHECK(second->record(1)->weights(0, 4) == expected);
    CHECK(sentence_in(visit).run()->record(1)->weights(2, 4) == before);

    // Beside head 2 stands the one that there is.
    visit.perform(Select{{.layer = 1, .head = 2, .query = 4, .key = {}}});
    const auto why = explained(visit, {Stage::weight, 4, 1, true});
    REQUIRE(why);
    CHECK(why->f32 == static_cast<double>(expected[1]));
    CHECK(why->provenance.ends_with("computed by other"));
    const auto difference = lens_in(visit).explain(subject_in(visit), {{1, 2}, {Stage::difference, 4, 1}});
    REQUIRE(difference);
    CHECK(difference->f32 == static_cast<double>(before[1]) - static_cast<double>(expected[1]));
    CHECK_FALSE(lens_in(visit).spoken(subject_in(visit)).empty());
    CHECK(lens_in(visit).tables(subject_in(visit)).size() == 3);

    SECTION("a link names the second, and asks for it") {
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
        CHECK(subject_in(other).second());
    }
    SECTION("it goes when the comparison ends, and undo says where it went") {
        visit.perform(Compare{});
        CHECK_FALSE(subject_in(visit).second());
        visit.undo();
        REQUIRE(page.notices.size() == 1);
        CHECK(missing_in(visit, kept));
    }
    SECTION("a second text takes its place, in the first model") {
        visit.perform(Compare{Comparison{.text = "ab"}});
        CHECK_FALSE(subject_in(visit).second());
        visit.tokens({Box::second, "ab", {1, 2}, {"a", "b"}, 2});
        finish(visit);
        REQUIRE(subject_in(visit).second());
        CHECK(subject_in(visit).second()->heads() == 3);
    }
    SECTION("nothing is taken over from another model's run") {
        for (const Offer& offer : sentence_in(visit).offers())
            CHECK(offer.label.find("other text") == std::string::npos);
    }
}

TEST_CASE("a model with another tokenizer does not stand beside one") {
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
    CHECK_FALSE(subject_in(visit).second());
    visit.perform(Compare{});
    load_files(visit, "other", with_one_head());
    CHECK(sentence_in(visit).model_name() == "other");
}
