#include "train/french.hpp"

#include <algorithm>

namespace attn::bilingual {

bool begins_with_vowel(std::string_view word) {
    for (const std::string_view vowel : {"a", "e", "i", "o", "u", "h", "â", "ê", "é", "è", "î", "ô", "œ"})
        if (word.starts_with(vowel)) return true;
    return false;
}

std::string participle(std::string_view masculine, bool feminine, bool plural) {
    std::string form = std::string(masculine) + (feminine ? "e" : "");
    if (plural && !form.ends_with('s')) form += 's';
    return form;
}

void joined(std::vector<FrenchWord> words, std::vector<std::string>& pieces, std::vector<Sources>& sources) {
    struct Contraction {
        std::string_view first, second, both;
    };
    static constexpr Contraction contractions[] = {
        {"de", "le", "du"}, {"de", "les", "des"}, {"à", "le", "au"}, {"à", "les", "aux"}};
    const auto vowel_follows = [&](std::size_t at) {
        return at + 1 < words.size() && begins_with_vowel(words[at + 1].text);
    };
    bool elided = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
        FrenchWord& word = words[i];
        const auto contraction = std::ranges::find_if(contractions, [&](const Contraction& c) {
            return i + 1 < words.size() && word.text == c.first && words[i + 1].text == c.second;
        });
        const bool next_elided =
            i + 1 < words.size() && words[i + 1].before_vowel.ends_with('\'') && vowel_follows(i + 1);
        if (contraction != std::end(contractions) && !next_elided) {
            const Sources& more = words[i + 1].sources;
            word.sources.insert(word.sources.end(), more.begin(), more.end());
            word.text = contraction->both;
            words.erase(words.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        } else if (!word.before_vowel.empty() && vowel_follows(i)) {
            word.text = word.before_vowel;
        }
        pieces.push_back((elided ? "" : "▁") + word.text);
        elided = word.text.ends_with('\'');
        std::ranges::sort(word.sources);
        sources.push_back(std::move(word.sources));
    }
}

}  // namespace attn::bilingual
