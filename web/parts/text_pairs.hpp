// Offers pairs of texts that differ in one place, for lenses that ask which parts of a model matter.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "app/drawing.hpp"
#include "subjects/capabilities.hpp"

namespace attn::parts {

struct TextPair {
    const char *key, *name;
    const char *text, *counterfactual;
    // Translations so far, for the bundled translator; empty: the texts are for the bundled decoder.
    const char *written = "", *counterfactual_written = "";
    std::int32_t right = 0, wrong = 0;  // ids of the tokens that may follow these
};

// In the first pair, the model should name the noun that the adjective describes; in the second, repeat what
// followed before.
inline constexpr std::array<TextPair, 2> text_pairs{{
    {"pronoun", "Pronoun pair", "The animal didn't cross the street because it was too tired. The",
     "The animal didn't cross the street because it was too wide. The"},
    {"induction", "Induction", "apple moon river stone apple moon river",
     "apple moon river king apple moon river"},
}};

// The participle agrees with what was heard, across another noun: “entendue”, not “entendu”.
inline constexpr TextPair agreement{.key = "agreement",
                                    .name = "Agreement in translation",
                                    .text = "The giraffe that a cow heard watches the rich farmer.",
                                    .counterfactual = "The lion that a cow heard watches the rich farmer.",
                                    .written = "La girafe qu'une vache a",
                                    .counterfactual_written = "Le lion qu'une vache a",
                                    .right = 1136,
                                    .wrong = 1134};

// Draws a button on a row, "<lens>/preset/<key>", if there is a model for the pair. It opens the pair in the
// lens that is open, after a command of the lens's own. Returns whether it was pressed, which may have
// changed everything.
bool draw_text_pair(const app::Drawing& drawing, const TextPair& pair, const app::Command& set);

}  // namespace attn::parts
