// Checks the order of things above the pictures, which is the same in every lens: headline, hint, things to
// try, settings. Pictures begin at the same height and at the same left edge.
#include <catch_amalgamated.hpp>
#include <cstdio>

#include "support/translator.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/frame/screen.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

TEST_CASE("grammar probe") {
    Screen screen;
    const auto look = [&](const char* subject) {
        for (const LensEntry& lens : lens_list()) {
            screen.visit.perform(OpenSubject{subject});
            screen.visit.perform(OpenLens{lens.key});
            screen.settle();
            if (screen.visit.state().subject != subject || screen.visit.state().lens != lens.key) continue;
            if (!subject_in(screen.visit).attention() ||
                lens_in(screen.visit).missing(subject_in(screen.visit))) {
                std::printf("%-9s %-12s -\n", subject, std::string(lens.key).c_str());
                continue;
            }
            const float left = rect("panel/lens").left, tabs = rect("panel/tabs").bottom;
            float top = 1e9f, begin = 1e9f;
            std::string first;
            for (const auto& [name, place] : ui::landmarks())
                if (name.starts_with("card/") && std::count(name.begin(), name.end(), '/') < 3 &&
                    place.min.y < top - 2)
                    top = place.min.y, first = name;
            for (const auto& [name, place] : ui::landmarks())
                if (name.starts_with("card/") && place.min.y < top + 3) begin = std::min(begin, place.min.x);
            std::printf("%-9s %-12s %4.0f left %3.0f tabs %.0f %s |", subject, std::string(lens.key).c_str(),
                        top + 54, begin - left, tabs, first.c_str());
            const auto spoken = rect("spoken");
            std::printf(" spoken %.0f-%.0f", spoken.top + 54, spoken.bottom + 54);
            std::vector<std::pair<float, std::string>> all;
            for (const auto& [name, place] : ui::landmarks())
                if (place.min.y > spoken.bottom && place.min.y < top + 3 && place.min.x >= left &&
                    place.max.x < 1130)
                    all.emplace_back(place.min.y * 10000 + place.min.x, name);
            std::ranges::sort(all);
            for (std::size_t i = 0; i < std::min<std::size_t>(all.size(), 30); ++i)
                std::printf(" %s@%.0f", all[i].second.c_str(), std::floor(all[i].first / 10000) + 54);
            std::printf("\n");
        }
    };
    look("worked");
    screen.open_sentence(8);
    look("sentence");
    put(screen.visit, {{"Q.npy", normal_npy({2, 3, 6, 4}, 1)},
                       {"K.npy", normal_npy({2, 3, 6, 4}, 2)},
                       {"V.npy", normal_npy({2, 3, 6, 4}, 3)}});
    screen.settle();
    look("tensors");
    screen.train_some();
    look("training");
}
