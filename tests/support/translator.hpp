// Opens the translator in models/ in a visit whose page splits texts the way its tokenizer does.
#pragma once

#include <catch_amalgamated.hpp>
#include <string>
#include <vector>

#include "support/files.hpp"
#include "support/small_families.hpp"
#include "train/piece_vocabulary.hpp"
#include "unit/app/visit.hpp"

namespace attn::test {

inline const PieceVocabulary& translator_vocabulary() {
    static const PieceVocabulary vocabulary;
    return vocabulary;
}

// Each word is split into the longest pieces, from its beginning on.
inline std::vector<std::int32_t> translator_ids(const std::string& text) {
    const PieceVocabulary& vocabulary = translator_vocabulary();
    std::vector<std::int32_t> ids;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        std::string word = "▁" + text.substr(at, end - at);
        while (!word.empty()) {
            std::int32_t best = PieceVocabulary::unknown;
            std::size_t longest = 0;
            for (std::int32_t id = 3; id < vocabulary.size(); ++id)
                if (word.starts_with(vocabulary.piece(id)) && vocabulary.piece(id).size() > longest) {
                    best = id;
                    longest = vocabulary.piece(id).size();
                }
            if (longest == 0) break;
            ids.push_back(best);
            word.erase(0, longest);
        }
        at = end + 1;
    }
    return ids;
}

// Joins pieces to a text such as "Le chat s'est".
inline std::string translator_text(std::span<const std::int32_t> ids) {
    std::string text;
    for (const std::int32_t id : ids) {
        const std::string& piece = translator_vocabulary().piece(id);
        const bool begins = piece.starts_with("▁");
        if (begins && !text.empty()) text += ' ';
        text += begins ? piece.substr(std::string("▁").size()) : piece;
    }
    return text;
}

inline std::string translator_piece(std::int32_t id) {
    std::string piece = translator_vocabulary().piece(id);
    if (piece.starts_with("▁")) piece.replace(0, std::string("▁").size(), "·");
    return piece;
}

// Does what the page does with the text of a box.
inline void split(app::Visit& visit, app::Box box, const std::string& text) {
    std::vector<std::int32_t> ids = translator_ids(text);
    if (box == app::Box::first || box == app::Box::third) ids.push_back(PieceVocabulary::end);
    std::vector<std::string> pieces;
    for (const std::int32_t id : ids) pieces.push_back(translator_piece(id));
    const auto count = std::ssize(ids);
    visit.tokens({box, text, std::move(ids), std::move(pieces), count});
}

// Splits the texts in both boxes.
inline void split_boxes(app::Visit& visit, const FakePage& page) {
    REQUIRE(page.second);
    split(visit, app::Box::first, page.box);
    split(visit, app::Box::second, *page.second);
    finish(visit);
}

// Opens a small encoder–decoder on the given tokens.
inline void open_encoder_decoder(app::Visit& visit, const SmallFamily& family,
                                 const std::vector<std::int32_t>& read,
                                 const std::vector<std::int32_t>& written) {
    const ModelFiles files = files_of(family);
    load_files(visit, "tiny",
               {{"config.json", files.config}, {"model.safetensors", files.weights.begin()->second}});
    const auto give = [&](app::Box box, const std::string& text, const std::vector<std::int32_t>& ids) {
        std::vector<std::string> pieces;
        for (const std::int32_t id : ids) pieces.push_back("·w" + std::to_string(id));
        visit.tokens({box, text, ids, pieces, std::ssize(ids)});
    };
    give(app::Box::first, "what is read", read);
    give(app::Box::second, "what is written", written);
    finish(visit);
}

inline app::Files translator_files() {
    app::Files files;
    for (const char* file : {"config.json", "model.safetensors", "scores.json"})
        files[file] = read_file(source_dir() / "models/translator" / file);
    return files;
}

inline void open_translator(app::Visit& visit, FakePage& page) {
    page.piece = translator_piece;
    load_files(visit, "translator", translator_files());
    split_boxes(visit, page);
}
// The page was asked to open the translator.
inline void open_awaited_translator(app::Visit& visit, FakePage& page) {
    REQUIRE(page.opened.back() == "translator");
    open_translator(visit, page);
}

}  // namespace attn::test
