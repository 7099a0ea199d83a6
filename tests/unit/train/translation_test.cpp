#include "train/translation.hpp"

#include <catch_amalgamated.hpp>
#include <cstdio>
#include <cstdlib>

#include "train/bilingual.hpp"
#include "train/piece_vocabulary.hpp"

using namespace attn;

TEST_CASE("print translations", "[.print]") {
    TranslationWriter writer(static_cast<std::uint64_t>(std::atoi(std::getenv("SEED"))));
    for (int i = 0; i < 120; ++i) {
        const Translation t = writer.next(i % 6 == 5);
        std::printf("%s\n   %s\n", text_of(t.english).c_str(), text_of(t.french).c_str());
        if (i % 10 == 0) {
            for (std::size_t k = 0; k < t.french.size(); ++k) {
                std::printf("  %s<-", t.french[k].c_str());
                for (Index j : t.sources[k])
                    std::printf("%s,", t.english[static_cast<std::size_t>(j)].c_str());
            }
            std::printf("\n");
        }
    }
    std::printf("%d pieces\n", PieceVocabulary().size());
}
