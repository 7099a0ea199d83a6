// Tests the page without a browser: its tokenizers, its models, and all lessons of the site.
#include "headless/headless_page.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>

#include "headless/lesson_report.hpp"
#include "learn/library.hpp"
#include "support/this_build.hpp"
#include "unit/app/visit.hpp"
#include "unit/lesson/lesson_texts.hpp"

using namespace attn;
using namespace attn::headless;
using Ids = std::vector<std::int32_t>;

namespace {

namespace fs = std::filesystem;

Result<std::vector<std::byte>> read_model_file(const std::string& path) {
    auto bytes = test::read_file(test::source_dir() / "models" / path);
    if (bytes.empty()) return Error{path + " is not here"};
    return bytes;
}

std::optional<PageTokenizer> tokenizer_of(const std::string& model) {
    const auto bytes = read_model_file(model + "/tokenizer.json");
    if (!bytes) SKIP("models/" << model << " is not here");
    auto read = PageTokenizer::parse(*bytes);
    REQUIRE(read);
    return *std::move(read);
}

Ids encoded(const PageTokenizer& tokenizer, std::string_view text, bool ends = true) {
    const auto ids = tokenizer.encode(text, ends);
    REQUIRE(ids);
    return *ids;
}

void settle(app::Visit& visit, HeadlessPage& page) {
    for (int i = 0; i < 10'000; ++i) {
        const bool more = visit.work(10), delivered = page.deliver(visit);
        if (!more && !delivered && !visit.busy() && !visit.progress()) return;
    }
    FAIL("the visit does not come to rest");
}

Ids ids_of(const app::Visit& visit) {
    const app::TextRun* run = test::sentence_in(visit).run();
    REQUIRE(run);
    return {run->ids().begin(), run->ids().end()};
}

std::string lesson_with(const std::string& needs, const std::string& link) {
    return "---\ntitle: T\nneeds: " + needs + "\n---\n## Is it so?\n```view\n" + link + "\n```\n";
}

}  // namespace

// The ids are those of web/shell/tokenizer.js.
TEST_CASE("the storyteller's texts have the same tokens as on the page") {
    const auto tokenizer = tokenizer_of("storyteller");
    CHECK(encoded(*tokenizer, "The cat sat on the mat.") == Ids{287, 561, 736, 326, 260, 767, 14});
    CHECK(encoded(*tokenizer, "").empty());
    CHECK(encoded(*tokenizer, "naïve 猫 🐱 xyz") ==
          Ids{78, 65, 128, 108, 332, 221, 164, 235, 105, 221, 173, 254, 239, 110, 221, 88, 89, 90});
    CHECK(tokenizer->pieces(Ids{65, 128, 108, 332, 2, 0, 221, 9999}) ==
          std::vector<std::string>{"a", "⟨ï 1/2⟩", "⟨ï 2/2⟩", "ve", "\"", "<|endoftext|>", "·", "#9999"});
    CHECK(tokenizer->decode(Ids{287, 0, 561}) == "The cat");
    CHECK(tokenizer->special().all == Ids{0});
    CHECK_FALSE(tokenizer->special().mask);
}

TEST_CASE("the translator's texts have the same tokens as on the page") {
    const auto tokenizer = tokenizer_of("translator");
    CHECK(encoded(*tokenizer, "The cat sat on the mat.") == Ids{100, 275, 1044, 31, 99, 528, 3, 1});
    CHECK(encoded(*tokenizer, "Le chat s'est assis", false) == Ids{101, 277, 48, 87, 1049});
    CHECK(encoded(*tokenizer, "") == Ids{1});
    CHECK(encoded(*tokenizer, "  two  spaces\nand a line\t!") == Ids{111, 2, 85, 2, 12, 79, 2, 2, 1});
    CHECK(encoded(*tokenizer, "naïve 猫 🐱 xyz") == Ids{2, 85, 2, 2, 2, 2, 1});
    CHECK(encoded(*tokenizer, "▁The a▁cat b") == Ids{100, 79, 275, 2, 1});
    CHECK(tokenizer->pieces(Ids{104, 287, 1}) == std::vector<std::string>{"·L'", "oiseau", "</s>"});
    CHECK(tokenizer->decode(encoded(*tokenizer, "L'oiseau près d'un arbre.")) == "L'oiseau près d'un arbre.");
    CHECK(tokenizer->special().all == Ids{0, 1});
    CHECK(tokenizer->special().separator == 1);
}

TEST_CASE("tokenizers of other kinds are refused by name") {
    const auto refusal = [](std::string_view json) {
        const auto read = PageTokenizer::parse(test::bytes_of(json));
        return read ? "none" : read.error().message;
    };
    CHECK(refusal("{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}") ==
          "tokenizer.json has the model 'WordPiece', which is not read here");
    CHECK(
        refusal("{\"model\": {\"type\": \"WordLevel\", \"vocab\": {\"a\": 0}}}") ==
        "tokenizer.json has a pre-tokenizer that does not cut at white space alone, which is not read here");
    CHECK(refusal("{\"pre_tokenizer\": {\"type\": \"WhitespaceSplit\"}, \"model\": {\"type\": \"WordLevel\", "
                  "\"unk_token\": \"<unk>\", \"vocab\": {\"A\": 0, \"B\": 1}}}") == "none");
}

TEST_CASE("a link opens its model and its text without a browser") {
    HeadlessPage page(read_model_file);
    if (!page.bring("storyteller")) SKIP("models/storyteller is not here");
    app::Visit visit(page);
    visit.set_home(page.opening().value());
    visit.open_fragment("v=1&subject=sentence&text=The%20cat%20sat&layer=1&head=2&query=2&key=1");
    settle(visit, page);
    CHECK(page.take_errors().empty());
    const app::TextRun* run = test::sentence_in(visit).run();
    REQUIRE(run);
    CHECK(ids_of(visit) == Ids{287, 561, 736});
    CHECK(run->pieces == std::vector<std::string>{"The", "·cat", "·sat"});
    CHECK(test::sentence_in(visit).model_name() == "storyteller");
    CHECK(visit.state().selection == app::Selection{1, 2, 2, 1});
    CHECK(test::sentence_in(visit).named_heads());

    test::sentence_in(visit).choose_next(326);  // " on"
    settle(visit, page);
    CHECK(app::sentence_of(visit.state()).text == "The cat sat on");
    CHECK(ids_of(visit) == Ids{287, 561, 736, 326});
    visit.undo();
    settle(visit, page);
    CHECK(ids_of(visit) == Ids{287, 561, 736});

    visit.open_fragment("v=1&subject=sentence&model=translator&text=The%20cat");
    settle(visit, page);
    CHECK(page.take_errors() == std::vector<std::string>{"this opens the model “translator”, but the lesson "
                                                         "brings storyteller; say needs: translator"});
}

TEST_CASE("what is written has no end, what is read has one") {
    HeadlessPage page(read_model_file);
    if (!page.bring("translator")) SKIP("models/translator is not here");
    app::Visit visit(page);
    visit.open_fragment("v=1&subject=sentence&model=translator&text=The%20cat%20sat.&written=Le%20chat");
    settle(visit, page);
    CHECK(page.take_errors().empty());
    const app::TextRun* run = test::sentence_in(visit).run();
    REQUIRE(run);
    CHECK(ids_of(visit) == Ids{0, 101, 277});
    REQUIRE(run->run->encoder());
    CHECK(run->run->encoder()->tokens() == 5);
}

TEST_CASE("a network trained here opens without a browser") {
    HeadlessPage page(read_model_file);
    app::Visit visit(page);
    visit.open_fragment(
        "v=1&subject=sentence&text=A%20B%20A"
        "&trained=4,induction,layers:1,heads:2,d:16,vocabulary:16,context:16,batch:2,steps:8");
    settle(visit, page);
    CHECK(page.take_errors().empty());
    REQUIRE(test::sentence_in(visit).run());
    CHECK(ids_of(visit) == Ids{1, 2, 1});  // A is the second symbol
}

TEST_CASE("a lesson's report says what it needs and lacks") {
    const auto report = [](const std::string& text) {
        return report_on(test::bytes_of(text), read_model_file);
    };
    const LessonReport broken = report("---\ntitle: T\n---\n## S\n```check\n1 < | x\n```\n");
    REQUIRE(broken.findings.size() == 1);
    CHECK(broken.findings[0].line == 6);
    const LessonReport absent = report(lesson_with("nobody", "v=1&subject=worked"));
    REQUIRE(absent.findings.size() == 1);
    CHECK(absent.findings[0].sentence ==
          "The model nobody is not here: it has no config.json; say where the models are with --models, or, "
          "if it needs none, needs: example");
    const LessonReport hub = report(lesson_with("hub:org/name", "v=1&subject=worked"));
    CHECK(hub.findings.empty());
    CHECK_FALSE(hub.remark.empty());
    const LessonReport lacks =
        report(lesson_with("example", "v=1&subject=sentence&model=storyteller&text=a"));
    REQUIRE(lacks.findings.size() == 1);
    CHECK(lacks.findings[0] ==
          lesson::Finding{6,
                          "this opens the model “storyteller”, but the lesson brings no model; say needs: "
                          "storyteller"});
    CHECK(report(lesson_with("example", "v=1&subject=worked")).findings.empty());
}

namespace {

// Checks every fourth lesson. A lesson that trains takes minutes under the sanitizers.
void check_lessons(std::size_t share) {
    std::vector<fs::path> files;
    for (const auto& entry : fs::directory_iterator(test::source_dir() / "lessons"))
        if (entry.path().extension() == ".md") files.push_back(entry.path());
    std::ranges::sort(files);
    REQUIRE_FALSE(files.empty());
    for (std::size_t i = share; i < files.size(); i += 4) {
        const std::string name = files[i].filename().string();
        const auto bytes = test::read_file(files[i]);
        const auto lesson = lesson::parse_lesson(bytes);
        if (lesson && app::find_subject(lesson->needs) && test::sanitized) continue;
        if (lesson && app::learn::needs_model(lesson->needs) && !lesson->needs.starts_with("hub:") &&
            !read_model_file(lesson->needs + "/config.json")) {
            WARN(name << " is not checked: models/" << lesson->needs << " is not here");
            continue;
        }
        for (const lesson::Finding& finding : report_on(bytes, read_model_file).findings)
            FAIL_CHECK(name << ":" << finding.line << ": " << finding.sentence);
    }
}

}  // namespace

TEST_CASE("the lessons of the site are as they say, first quarter") { check_lessons(0); }
TEST_CASE("the lessons of the site are as they say, second quarter") { check_lessons(1); }
TEST_CASE("the lessons of the site are as they say, third quarter") { check_lessons(2); }
TEST_CASE("the lessons of the site are as they say, last quarter") { check_lessons(3); }
