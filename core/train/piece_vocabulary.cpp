#include "train/piece_vocabulary.hpp"

#include <cctype>
#include <nlohmann/json.hpp>

#include "train/bilingual.hpp"
#include "train/french.hpp"

namespace attn {

PieceVocabulary::PieceVocabulary() {
    for (const char* piece : {"<pad>", "</s>", "<unk>", "."}) add(piece);
    add_words("he she they him her them who that and to not never often always do does did is are was were");
    add_words("an in near behind front of on under yesterday today every day morning");
    add_words("il elle ils le la les l' ne n' se s' que qu' qui et à au aux de d' du des pas jamais souvent");
    add_words("toujours sont étaient ont près dans derrière devant sur sous hier tous jours matin");
    add_french("un une a ont est était étaient aujourd'hui");
    for (const char* word : {"an", "he", "she", "they", "il", "elle", "ils", "de"}) add_capital(word);
    for (const bilingual::Determiner& determiner : bilingual::determiners())
        for (const std::string_view words :
             {determiner.english, determiner.french, determiner.before_vowel}) {
            add_words(words);
            bilingual::for_each_word(words, [&](std::string_view word) { add_capital(word); });
        }
    for (const bilingual::Noun& noun : bilingual::nouns()) {
        add_words(noun.english);
        add_french(noun.french);
    }
    for (const bilingual::Adjective& adjective : bilingual::adjectives()) {
        add_words(adjective.english);
        add_words(adjective.french);
    }
    for (const bilingual::Verb& verb : bilingual::verbs()) {
        add_words(verb.english);
        add_french(verb.french.substr(0, verb.french.rfind('|')));
        for (const bool feminine : {false, true})
            for (const bool plural : {false, true})
                add_words(bilingual::participle(sentences::nth(verb.french, 2), feminine, plural));
    }
}

void PieceVocabulary::add(std::string piece) {
    if (ids_.emplace(piece, size()).second) pieces_.push_back(std::move(piece));
}

void PieceVocabulary::add_words(std::string_view words) {
    bilingual::for_each_word(words, [&](std::string_view word) { add("▁" + std::string(word)); });
}

void PieceVocabulary::add_capital(std::string_view word) {
    std::string capital(word);
    capital[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(capital[0])));
    add("▁" + capital);
}

void PieceVocabulary::add_french(std::string_view words) {
    add_words(words);
    bilingual::for_each_word(words, [&](std::string_view word) {
        if (bilingual::begins_with_vowel(word)) add(std::string(word));
    });
}

std::int32_t PieceVocabulary::size() const { return static_cast<std::int32_t>(pieces_.size()); }

std::vector<std::int32_t> PieceVocabulary::ids(std::span<const std::string> pieces) const {
    std::vector<std::int32_t> ids;
    for (const std::string& piece : pieces) {
        const auto found = ids_.find(piece);
        ids.push_back(found == ids_.end() ? unknown : found->second);
    }
    ids.push_back(end);
    return ids;
}

std::string PieceVocabulary::to_json() const {
    using nlohmann::ordered_json;
    constexpr double special_score = 0, piece_score = -1;
    ordered_json added = ordered_json::array(), vocabulary = ordered_json::array();
    for (std::int32_t id = 0; id < size(); ++id) {
        const bool special = id <= unknown;
        if (special)
            added.push_back({{"id", id},
                             {"content", piece(id)},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
        vocabulary.push_back({piece(id), special ? special_score : piece_score});
    }
    const ordered_json metaspace{{"type", "Metaspace"},
                                 {"replacement", "▁"},
                                 {"add_prefix_space", true},
                                 {"prepend_scheme", "always"}};
    const auto sequence = [](const char* id) {
        return ordered_json{{"Sequence", {{"id", id}, {"type_id", 0}}}};
    };
    const ordered_json closing{{"SpecialToken", {{"id", "</s>"}, {"type_id", 0}}}};
    const ordered_json file{
        {"version", "1.0"},
        {"truncation", nullptr},
        {"padding", nullptr},
        {"added_tokens", added},
        {"normalizer", nullptr},
        {"pre_tokenizer",
         {{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}, metaspace}}}},
        {"post_processor",
         {{"type", "TemplateProcessing"},
          {"single", ordered_json::array({sequence("A"), closing})},
          {"pair", ordered_json::array({sequence("A"), closing, sequence("B"), closing})},
          {"special_tokens", {{"</s>", {{"id", "</s>"}, {"ids", {end}}, {"tokens", {"</s>"}}}}}}}},
        {"decoder", metaspace},
        {"model", {{"type", "Unigram"}, {"unk_id", unknown}, {"vocab", vocabulary}}}};
    return file.dump(0) + "\n";
}

}  // namespace attn
