#include "app/archive_intake.hpp"
#include "io/zip_writer.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
    const auto bytes = std::as_bytes(std::span(text));
    return {bytes.begin(), bytes.end()};
}

// Does what the page does with a .zip.
bool drop(Visit& visit, const std::string& name, std::span<const std::byte> archive) {
    FileIntake& intake = *visit.intake(FileKind::archive);
    auto buffer = intake.buffer(name, archive.size());
    REQUIRE(buffer);
    std::ranges::copy(archive, *buffer);
    return intake.arrived();
}

}  // namespace

TEST_CASE("the .zip of a trained network opens again unchanged") {
    FakePage page, fresh;
    {
        Visit visit(page);
        visit.start(
            "lens=training&train=induction,heads:2,d:16,vocabulary:16,context:16,batch:2,steps:40&step=8");
        while (visit.work(5)) {
        }
        const TrainingView* view = runs_in(visit).shown_view(training_of(visit.state()));
        REQUIRE(view);
        training_in(visit).save_network(*runs_in(visit).shown(), *view);
    }
    Visit visit(fresh);
    REQUIRE(drop(visit, page.downloaded, page.downloaded_bytes));
    CHECK(fresh.folder == "induction-step-8");
    CHECK_FALSE(fresh.files_awaited);
    Files files;
    for (const char* name : {"README.md", "config.json", "model.safetensors", "tokenizer.json"})
        files[name] = fresh.files.at(std::string("induction-step-8/") + name);
    CHECK(fresh.files.size() == files.size());
    load_files(visit, fresh.folder, files);
    CHECK(visit.state().subject == sentence_subject);
    CHECK(sentence_in(visit).model_name() == "induction-step-8");
    CHECK(fresh.notices.empty());
}

TEST_CASE("a .zip's files keep their paths, without hidden system files") {
    FakePage page;
    Visit visit(page);
    const auto one = bytes_of("1"), empty = bytes_of("");
    const std::vector<ZipFile> entries{
        {"q.csv", one}, {"deep/k.csv", empty}, {".DS_Store", one}, {"__MACOSX/deep/._k.csv", one}};
    REQUIRE(drop(visit, "my.tensors.zip", write_zip(entries)));
    CHECK(page.folder == "my.tensors");
    CHECK(page.files == Files{{"q.csv", one}, {"deep/k.csv", empty}});
}

TEST_CASE("a .zip that cannot be opened is named with the reason") {
    FakePage page;
    Visit visit(page);
    CHECK_FALSE(drop(visit, "a.zip", bytes_of("nothing of the kind")));
    REQUIRE(page.notices.size() == 1);
    CHECK_THAT(page.notices[0], ContainsSubstring("a.zip: this is not a zip archive"));

    const auto contents = bytes_of("twelve bytes");
    auto broken = write_zip(std::vector<ZipFile>{{"q.csv", contents}});
    broken[40] ^= std::byte{1};
    CHECK_FALSE(drop(visit, "b.zip", broken));
    REQUIRE(page.notices.size() == 2);
    CHECK_THAT(page.notices[1], ContainsSubstring("b.zip: "));
    CHECK(page.files.empty());

    const auto large = visit.intake(FileKind::archive)->buffer("c.zip", ArchiveIntake::bytes_limit + 1);
    REQUIRE_FALSE(large);
    CHECK(large.error().message ==
          "c.zip holds more than 300 MB; unpack it and drop its folder onto the page instead");
}
