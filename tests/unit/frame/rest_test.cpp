// Checks that every page comes to rest: each frame's picture equals the next one's, so that the program can
// sleep. Anything whose size depends on the previous frame might oscillate for ever.
#include <array>
#include <catch_amalgamated.hpp>
#include <cstdint>

#include "lenses/geometry/geometry.hpp"
#include "lenses/knockout/knockout.hpp"
#include "support/this_build.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

constexpr std::array<float, 10> page_widths{320, 390, 640, 820, 900, 1024, 1180, 1366, 1440, 1920};

// Identifies a picture by a hash of everything that is drawn.
std::uint64_t drawn_picture() {
    std::uint64_t hash = 1469598103934665603ull;
    const auto add = [&](const void* data, std::size_t size) {
        const auto* bytes = static_cast<const unsigned char*>(data);
        for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
    };
    for (const ImDrawList* list : ImGui::GetDrawData()->CmdLists) {
        for (const ImDrawVert& each : list->VtxBuffer) {
            add(&each.pos, sizeof each.pos);
            add(&each.col, sizeof each.col);
        }
        for (const ImDrawCmd& each : list->CmdBuffer) add(&each.ClipRect, sizeof each.ClipRect);
    }
    return hash;
}

// The last frames, more than any fade or layout takes, must show the same picture.
bool rests(Screen& screen) {
    constexpr int patience = 60, alike = 4;
    screen.settle();
    std::uint64_t before = drawn_picture();
    for (int frame = 0, still = 0; frame < patience; ++frame) {
        screen.draw();
        const std::uint64_t now = drawn_picture();
        still = now == before ? still + 1 : 0;
        if (still == alike) return true;
        before = now;
    }
    return false;
}

}  // namespace

TEST_CASE("every lens comes to rest at every width") {
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject}) {
        Screen screen;
        if (subject == sentence_subject) screen.open_sentence(14);
        if (subject == training_subject) screen.train_some();
        std::size_t number = 0;
        for (const LensEntry& lens : lens_list()) {
            screen.visit.perform(OpenSubject{subject});
            screen.visit.perform(OpenLens{lens.key});
            ++number;
            for (std::size_t i = 0; i < page_widths.size(); ++i) {
                if (test::sanitized && (number + i) % 5 != 0) continue;
                INFO(subject << " through " << lens.key << ", " << page_widths[i] << " wide");
                ImGui::GetIO().DisplaySize = {page_widths[i], 846};
                CHECK(rests(screen));
            }
        }
    }
}

TEST_CASE("a lens comes to rest at every height, where its contents just fit or just do not") {
    Screen screen;
    screen.visit.perform(OpenLens{"geometry"});
    for (const char* einsum : {"ij->ji with A", "ik,jk->ij with Q, K", "ij->i with A"}) {
        geometry::State next;
        next.part = geometry::Part::einsum;
        next.einsum = einsum;
        screen.visit.perform(Set<geometry::State>{next});
        for (float height = 420; height < 1000; height += test::sanitized ? 40 : 8) {
            INFO(einsum << ", " << height << " high");
            for (const float width : {390.0f, 1000.0f, 1440.0f}) {
                ImGui::GetIO().DisplaySize = {width, height};
                CHECK(rests(screen));
            }
        }
    }
}

TEST_CASE("Knock-out of a pair of sentences comes to rest at every height, in every part") {
    Screen screen;
    screen.open_sentence();
    screen.visit.perform(Compare{Comparison{.text = "other words"}});
    screen.visit.tokens({Box::second, "other words", {1, 2, 3, 4, 0, 2}, {"a", "b", "c", "d", "e", "f"}, 6});
    screen.visit.perform(OpenLens{"knockout"});
    for (const knockout::Part part :
         {knockout::Part::heads, knockout::Part::edges, knockout::Part::patching}) {
        screen.visit.perform(Set<knockout::State>{{.part = part, .removal = knockout::Removal::twin}});
        for (float height = 420; height < 1000; height += test::sanitized ? 160 : 32)
            for (const float width : {390.0f, 1000.0f, 1440.0f}) {
                INFO("part " << static_cast<int>(part) << ", " << width << " × " << height);
                ImGui::GetIO().DisplaySize = {width, height};
                CHECK(rests(screen));
            }
    }
}

TEST_CASE("a page without height or width comes to rest") {
    Screen screen;
    for (const ImVec2 size : {ImVec2{1440, 1}, ImVec2{1, 1}, ImVec2{1, 846}, ImVec2{320, 40}}) {
        INFO(size.x << " × " << size.y);
        ImGui::GetIO().DisplaySize = size;
        for (const LensEntry& lens : lens_list()) {
            INFO(lens.key);
            screen.visit.perform(OpenLens{lens.key});
            CHECK(rests(screen));
        }
    }
}
