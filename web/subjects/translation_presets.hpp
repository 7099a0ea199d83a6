// Lists English sentences that the translator in models/ knows, each with its French translation
// (core/train/translation).
#pragma once

#include <array>

namespace attn::app {

struct TranslationPreset {
    const char *key, *name;
    const char *english, *french;
};

inline constexpr std::array<TranslationPreset, 3> translation_presets{{
    {"mat", "The cat sat", "The cat sat on the mat.", "Le chat s'est assis sur le tapis."},
    {"sides", "Adjectives that swap sides", "This fat white giraffe was often lazy.",
     "Cette grosse girafe blanche était souvent paresseuse."},
    {"agreement", "Agreement at a distance", "The giraffe that a cow heard watches the rich farmer.",
     "La girafe qu'une vache a entendue regarde le fermier riche."},
}};

}  // namespace attn::app
