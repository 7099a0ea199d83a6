// Tests lens Yours: its example, a dropped case, links, and numbers that explain themselves.
#include "lenses/yours/yours.hpp"

#include <catch_amalgamated.hpp>
#include <cmath>
#include <cstring>

#include "analysis/check/hard_case.hpp"
#include "app/link.hpp"
#include "io/npy.hpp"
#include "io/zip_writer.hpp"
#include "unit/app/support.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using Catch::Matchers::ContainsSubstring;

namespace {

yours::Model& yours_model(const Screen& screen) {
    return static_cast<ModelLens<yours::Model>&>(screen.visit.lens()).model();
}
void show_yours(Screen& screen, const yours::State& state = {}) {
    show_lens(screen, "yours", Set<yours::State>{state});
}
std::size_t example_of(std::string_view key) {
    return static_cast<std::size_t>(std::ranges::find(yours::example_keys(), key) -
                                    yours::example_keys().begin());
}

bool drop(Screen& screen, const std::string& name, std::span<const std::byte> bytes) {
    FileIntake* intake = screen.visit.intake(FileKind::tensors);
    const auto buffer = intake->buffer(name, bytes.size());
    REQUIRE(buffer);
    std::memcpy(*buffer, bytes.data(), bytes.size());
    const bool taken = intake->arrived();
    screen.settle();
    return taken;
}

// One head of two queries and three keys, by hand; the scale is left out if `scaled` is false.
std::vector<std::byte> small_case(bool scaled) {
    const std::vector<float> q{1, 0, 0, 1, 2, -1, 0.5f, 1}, k{1, 2, 0, 1, 0, 1, -1, 0, 2, 0, 1, 1},
        v{1, 0, 0, 2, -1, 1};
    std::vector<float> output;
    for (std::size_t i = 0; i < 2; ++i) {
        std::array<double, 3> e{};
        double sum = 0, x = 0, y = 0;
        for (std::size_t j = 0; j < 3; ++j) {
            double s = 0;
            for (std::size_t a = 0; a < 4; ++a) s += static_cast<double>(q[4 * i + a] * k[4 * j + a]);
            sum += e[j] = std::exp(scaled ? s / 2 : s);
        }
        for (std::size_t j = 0; j < 3; ++j) {
            x += e[j] / sum * static_cast<double>(v[2 * j]);
            y += e[j] / sum * static_cast<double>(v[2 * j + 1]);
        }
        output.push_back(static_cast<float>(x));
        output.push_back(static_cast<float>(y));
    }
    const std::array files{std::pair{"q.npy", write_npy({2, 4}, q)}, std::pair{"k.npy", write_npy({3, 4}, k)},
                           std::pair{"v.npy", write_npy({3, 2}, v)},
                           std::pair{"output.npy", write_npy({2, 2}, output)}};
    std::vector<ZipFile> entries;
    for (const auto& [path, bytes] : files) entries.push_back({path, bytes});
    return write_zip(entries);
}

}  // namespace

TEST_CASE("lens Yours names the mistake of its example, and every number explains itself") {
    Screen screen;
    show_yours(screen);
    const yours::Model& model = yours_model(screen);
    REQUIRE(model.result);
    CHECK(model.result->verdict.key() == "heads_merged_without_transpose");
    CHECK_THAT(spoken(screen.visit), ContainsSubstring("Cause: Heads merged without a transpose"));
    for (const Index matrix : {0, 1, 2, 3}) check_told(screen, yours::cells::output(matrix, 5, 3));
    CHECK_FALSE(why(screen.visit, yours::cells::output(0, 12, 0)));
    check_told(screen, yours::cells::near(0), 1e-4, 1e-30);
    check_told(screen, yours::cells::precision(1, 0));
    CHECK(table_of(screen, "Yours − right").values.rows == 12);
    for (const char* shown : {"card/yours/difference", "card/yours/returned", "yours/fix", "yours/first"}) {
        reveal(screen, shown);
        CHECK(screen.shows(shown));
    }
    show_yours(screen, {.batch = 1, .head = 3});
    CHECK(model.shown->value(yours::Matrix::returned, 4, 2) ==
          yours::example_case(1).output.row(1, 0, 4)[3 * 8 + 2]);
}

TEST_CASE("every example of lens Yours is named first, or is one of those named") {
    for (std::size_t i = 0; i < yours::example_keys().size(); ++i) {
        const std::string_view key = yours::example_keys()[i];
        CAPTURE(key);
        const Verdict verdict = diagnose({yours::example_case(i)}).verdict;
        if (i == 0) {
            CHECK(verdict.kind == Verdict::Kind::right);
            continue;
        }
        const bool among = std::ranges::any_of(
            verdict.alternatives, [&](const NamedCause& each) { return each.mistake->key == key; });
        CHECK((verdict.key() == key || among));
    }
}

TEST_CASE("lens Yours takes a dropped case, keeps what was there if it cannot, and undoes it") {
    Screen screen;
    show_yours(screen);
    CHECK_FALSE(drop(screen, "case.npz", hard_case(1)));  // has no output yet
    CHECK(yours_model(screen).is_example());
    CHECK(drop(screen, "small.npz", small_case(false)));
    const yours::Model& model = yours_model(screen);
    REQUIRE(model.result);
    CHECK(model.result->verdict.key() == "scale_missing");
    CHECK_THAT(why(screen.visit, yours::cells::output(0, 1, 1))->provenance, ContainsSubstring("small.npz"));
    check_told(screen, yours::cells::output(1, 1, 1));
    screen.visit.undo();
    screen.settle();
    CHECK(yours_model(screen).is_example());
    screen.visit.redo();
    screen.settle();
    CHECK(yours_model(screen).result->verdict.key() == "scale_missing");
    CHECK(drop(screen, "right.npz", small_case(true)));
    CHECK(yours_model(screen).result->verdict.kind == Verdict::Kind::right);
    // A link with the name of a file that is not here asks for it.
    State linked = screen.visit.state();
    linked.edit<yours::State>().file = "other.npz";
    screen.visit.perform(Set<yours::State>{linked.of<yours::State>()});
    screen.settle();
    CHECK(screen.shows("yours/wanted"));
    CHECK(example_of("scale_missing") > 1);
}
