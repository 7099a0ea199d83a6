// Supports encoder–decoders: the decoder's written text has a box of its own, and goes through the model
// together with the encoder's text.
#include <algorithm>
#include <array>
#include <cmath>

#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/translation_presets.hpp"

namespace attn::app {

namespace {

constexpr const char* translator = "translator";

}  // namespace

void SentenceSubject::set_written(const std::string& text) {
    pending_.drop_given();
    if (last_is_chosen() && text.starts_with(now().written)) pending_.want_last_token();
    begin_typing();
    visit().perform(SetWritten{text}, typing_);
}

// The page tokenizes one text after the other. A comparison's texts have boxes while its lens is open.
void SentenceSubject::start_both(TextJob& job) {
    const bool beside = &job == &compared_, second = beside && !compares_models();
    if (beside && !now().compared) return;
    if (!model_of(job)) return;
    const Model& model = *model_of(job);
    const auto read = split_.find(second ? Box::third : Box::first),
               wrote = split_.find(second ? Box::fourth : Box::second);
    if (read == split_.end() || wrote == split_.end() ||
        read->second.text != (second ? now().compared->text : now().text) ||
        wrote->second.text != (second ? now().compared->written : now().written))
        return;
    const TokenizedText& text = wrote->second;
    const std::int32_t first = model.config().start_id;
    SplitText written{{first}, {}, token_texts(std::array{first}), text.text};
    const auto most = static_cast<std::ptrdiff_t>(model.config().context - 1);
    const auto count = std::min(std::ssize(text.ids), most);
    if (text.total > most)
        visit().notice("What is written has " + std::to_string(text.total) + " tokens; " +
                       name_of_model(job) + " writes " + std::to_string(most) + ", so the first " +
                       std::to_string(most) + " are shown.");
    written.ids.insert(written.ids.end(), text.ids.begin(), text.ids.begin() + count);
    written.pieces.insert(written.pieces.end(), text.pieces.begin(), text.pieces.begin() + count);
    start(job, read->second, std::move(written));
    if (beside) return;
    if (sentence_.ids().empty()) {
        next_ = {};
        changed_.clear();
    }
    generation_.run_began();
}

std::optional<double> SentenceSubject::aligned(HeadIndex head) const {
    const Index first = open_.model->config().attentions() - open_.model->config().decoder_layers;
    const Index at = (head.layer - first) * open_.model->config().heads + head.head;
    if (head.layer < first || at >= std::ssize(aligned_)) return std::nullopt;
    const double share = aligned_[static_cast<std::size_t>(at)];
    return std::isnan(share) ? std::nullopt : std::optional(share);
}

std::optional<HeadIndex> SentenceSubject::best_aligned() const {
    std::optional<HeadIndex> best;
    const ModelConfig& config = open_.model->config();
    for (Index layer = config.attentions() - config.decoder_layers; layer < config.attentions(); ++layer)
        for (Index head = 0; head < config.heads; ++head)
            if (const auto share = aligned({layer, head}); share && (!best || *share > *aligned(*best)))
                best = HeadIndex{layer, head};
    return best;
}

Command SentenceSubject::texts(const std::string& text, const std::string& written) const {
    return Together{{SetText{text}, SetWritten{written}}};
}

Offer SentenceSubject::offer_translation() const {
    const TranslationPreset& first = translation_presets.front();
    // The user's own text is kept and translated.
    return {"Open the translator",
            text_is_own() ? OpenBundled{translator, now().text, ""}
                          : OpenBundled{translator, first.english, first.french},
            true, true};
}

std::optional<Command> SentenceSubject::translates(const Translated& first, const Translated& second) const {
    if (!models_are_bundled() && open_.name != translator) return std::nullopt;
    return Command(Together{{OpenBundled{translator, first.text, first.written},
                             Compare{Comparison{.text = second.text, .written = second.written}}}});
}

// Returns "14 tokens" or "8 tokens read, 7 written".
std::string SentenceSubject::tokens_told() const {
    if (is_cut()) return std::to_string(run()->tokens()) + " of " + many(total_tokens_, "token");
    if (!writes_another()) return many(run()->tokens(), "token");
    return many(run()->run->encoder()->tokens(), "token") + " read, " + std::to_string(run()->tokens()) +
           " written";
}

// Returns "5 layers", or "2 + 2 layers" for an encoder and a decoder.
std::string SentenceSubject::layers_told() const {
    const ModelConfig& config = open_.model->config();
    if (!writes_another()) return many(config.layers, "layer");
    return std::to_string(config.layers) + " + " + many(config.decoder_layers, "layer");
}

}  // namespace attn::app
