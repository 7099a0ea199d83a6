// Tests a GGUF file that the page hands over: its header is checked as it arrives, and it brings its own
// tokenizer.
#include <nlohmann/json.hpp>

#include "support/shared_data.hpp"
#include "unit/app/visit.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

using Ids = std::vector<std::int32_t>;

// Writes the file's bytes in pieces, each as long as the header still needs. Returns how many had arrived
// when it was checked, or why it was refused.
Result<std::uint64_t> arrives(FileIntake& intake, const std::filesystem::path& path) {
    const auto bytes = read_file(path);
    const std::string name = path.filename().string();
    intake.name(path.stem().string(), false);
    const auto buffer = intake.buffer(name, bytes.size());
    if (!buffer) return buffer.error();
    std::uint64_t written = 0;
    for (std::uint64_t needed = 1; needed > 0;) {
        const std::uint64_t more = std::max(needed, written + 1);
        REQUIRE(more <= bytes.size());
        std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(written),
                  bytes.begin() + static_cast<std::ptrdiff_t>(more), *buffer + written);
        written = more;
        const auto checked = intake.check_header(name, written);
        if (!checked) return checked.error();
        needed = *checked;
    }
    std::copy(bytes.begin() + static_cast<std::ptrdiff_t>(written), bytes.end(), *buffer + written);
    return written;
}

}  // namespace

TEST_CASE("a GGUF file is checked before its body arrives, and splits texts itself", "[gguf]") {
    const auto folder = shared_data("gguf");
    if (!folder) SKIP("the shared GGUF files are not here; set ATTN_SHARED to their folder");
    FakePage page;
    Visit visit(page);
    FileIntake& intake = *visit.intake(FileKind::model);
    CHECK_FALSE(intake.encode("a", true));

    const auto path = *folder / "llama3/llama3-tiny-f16.gguf";
    const auto checked = arrives(intake, path);
    REQUIRE(checked);
    CHECK(*checked < 2 * 7424 + 8);  // the tensors begin there
    const auto told = nlohmann::json::parse(intake.tokenizer(), nullptr, false);
    CHECK(told["name"] == "llama3-tiny");
    CHECK(told["byteLevel"] == true);
    CHECK(told["tokens"].size() == 304);
    CHECK(told["types"][300] == 3);
    CHECK_FALSE(intake.encode("a", true));  // not before it is open
    REQUIRE(intake.arrived());
    CHECK(sentence_in(visit).model_name() == "llama3-tiny-f16");
    CHECK(intake.tokenizer().empty());
    CHECK(*intake.encode("a<tool>b<|end_of_text|>", true) == Ids{300, 64, 302, 65, 301});
    CHECK(*intake.encode("a", false) == Ids{64});

    // A refused file leaves the open model alone.
    const auto refused = arrives(intake, *folder / "broken/bos-99.gguf");
    REQUIRE(!refused);
    CHECK(refused.error().message ==
          "bos-99.gguf: tokenizer.ggml.bos_token_id is 99, but there are 32 tokens");
    intake.discard();
    const auto mamba = arrives(intake, *folder / "broken/architecture-mamba.gguf");
    REQUIRE(!mamba);
    CHECK_THAT(mamba.error().message, Catch::Matchers::ContainsSubstring("'mamba'"));
    intake.discard();
    CHECK(*intake.encode("a", true) == Ids{300, 64});
    CHECK(intake.tokenizer().empty());

    // A model of the hub gives the program no tokenizer.
    load_tiny_model(visit);
    CHECK_FALSE(intake.encode("a", true));
}

TEST_CASE("all files of a split GGUF model make one model", "[gguf]") {
    const auto folder = shared_data("gguf/gpt2");
    if (!folder) SKIP("the shared GGUF files are not here; set ATTN_SHARED to their folder");
    FakePage page;
    Visit visit(page);
    FileIntake& intake = *visit.intake(FileKind::model);
    REQUIRE(arrives(intake, *folder / "gpt2-tiny-q8_0-00002-of-00002.gguf"));
    CHECK(intake.tokenizer().empty());
    CHECK_FALSE(intake.arrived());
    REQUIRE(page.notices.size() == 1);
    for (const char* part : {"gpt2-tiny-q8_0-00001-of-00002.gguf", "gpt2-tiny-q8_0-00002-of-00002.gguf"})
        REQUIRE(arrives(intake, *folder / part));
    REQUIRE(intake.arrived());
    CHECK(*intake.encode("one<|endoftext|>", true) == Ids{291, 68, 399});
}
