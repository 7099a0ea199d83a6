// Describes the subject: its number of heads, the steps to find by name, explanations, and the status line.
#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

#include "app/format.hpp"
#include "subjects/explain.hpp"
#include "subjects/sentence/fill_hint.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/translation_presets.hpp"
#include "text/utf8.hpp"

namespace attn::app {

HeadCount SentenceSubject::head_count() {
    return run() ? HeadCount{run()->numbering(), run()->heads()} : HeadCount{};
}

std::vector<Offer> SentenceSubject::offers() const {
    std::vector<Offer> all;
    if (!open_.model) return all;
    if (writes_another()) {
        for (const TranslationPreset& preset : translation_presets)
            all.push_back({"Translate “" + std::string(preset.english) + "”", texts(preset.english, "")});
    } else {
        for (const Pair& pair : pairs())
            all.push_back(
                {"Compare " + std::string(pair.name), Compare{Comparison{pair.second}, pair.first}});
        if (const auto twin = twin_of(now().text))
            all.push_back({"Twin sentence: " + twin->adjective, SetText{twin->text}});
    }
    if (const auto twice = offer_repetition())
        all.push_back({twice->label + ", for heads that repeat (induction)", twice->command});
    if (!compares_models()) all.push_back({"Compare with another model", Compare{Comparison{.model = ""}}});
    if (auto alone = offer_alone()) all.push_back(*std::move(alone));
    std::ranges::move(change_offers(), std::back_inserter(all));
    return all;
}

std::vector<Request> SentenceSubject::requests() {
    const auto word = state().selection.query ? maskable_word() : std::nullopt;
    if (!word) return {};
    return {{mask_label(*word), [this] { mask_word(); }}};
}

std::string fill_hint(Index masks, Index tokens) {
    if (masks == 1) return "Click a token to write it there, a word in the sentence to mask that one, too.";
    if (masks > 1)
        return "A word of several tokens takes as many masks, and each of them is predicted alone. Click a "
               "token to "
               "write it there.";
    if (tokens == 0) return "Nothing is masked. Click a word of the sentence to mask it.";
    const std::string plain = "Nothing is masked: the model sees the word itself.";
    return tokens == 1
               ? plain
               : plain + " It is masked by " + std::to_string(tokens) + " masks, each predicted alone.";
}

std::string SentenceSubject::mask_label(Index word) const {
    constexpr std::ptrdiff_t most = 24;  // characters
    const std::string name = on_one_line(run()->words.name(word));
    const std::string_view first = first_code_points(name, most);
    return "Mask " + curly_quoted(std::string(first) + (first.size() < name.size() ? "…" : ""));
}

std::optional<Offer> SentenceSubject::offer_second() const {
    const auto twin = twin_of(now().text);
    return Offer{"Compare with a second sentence",
                 Compare{Comparison{.text = twin ? twin->text : now().text,
                                    .written = writes_another() ? now().written : ""}},
                 true};
}

// An induction head relies on a repeated pair of tokens. Random words show it best: within a sentence read
// twice, such a head may have nothing to do and rest on the first token.
std::optional<Offer> SentenceSubject::offer_repetition() const {
    constexpr std::size_t looked_at = 1024;
    constexpr Index least_context = 64;
    constexpr std::string_view words = "apple moon river stone";
    const Index context = open_.model ? open_.model->config().context : 0;
    if (!sentence_.run() || context < least_context) return std::nullopt;
    const auto ids = sentence_.run()->of(0).ids();
    std::set<std::pair<std::int32_t, std::int32_t>> seen;
    for (std::size_t i = 0; i + 1 < std::min(ids.size(), looked_at); ++i)
        if (!seen.emplace(ids[i], ids[i + 1]).second) return std::nullopt;
    const Selection& chosen = visit().state().selection;
    return Offer{"Read “" + std::string(words) + "” twice",
                 Together{{SetText{std::string(words) + " " + std::string(words)},
                           Select{{chosen.layer, chosen.head, {}, {}}}}}};
}

std::optional<Offer> SentenceSubject::offer_alone() const {
    if (!now().compared) return std::nullopt;
    return Offer{compares_models() ? "This model alone" : "One sentence alone", Compare{}};
}

std::string SentenceSubject::second_wanted() const {
    if (!compares_models()) return Comparing::second_wanted();
    const std::string& name = *now().compared->model;
    const std::string beside = "it reads the sentence beside " + shown_name(open_.name) + ".";
    if (name.empty())
        return "Drop the folder of another model with the same tokenizer onto the page: " + beside;
    return (is_hub_model(name) ? "Open " + shown_name(name) + " from the hub: "
                               : "Drop the folder of " + name + " onto the page: ") +
           beside;
}

// An empty second text means no second text.
std::optional<Command> SentenceSubject::reads(const std::string& text, const std::string& second) const {
    if (!models_are_bundled() && (!open_.model || writes_another())) return std::nullopt;
    const Command open = models_are_bundled()
                             ? Command(OpenBundled{sentence_of(*visit().home()).model, text, ""})
                             : Command(OpenSubject{sentence_subject});
    const auto with = second.empty() ? std::nullopt : std::optional(Comparison{.text = second});
    return Command(Together{{open, Compare{with, text}}});
}

const Ladder* SentenceSubject::ladder() { return ladder_of(ladder_, chosen_run(), chosen_head()); }

std::optional<Explained> SentenceSubject::explain_at(const CellPlace& place) {
    TextRun* shown = run_of(place.cell);
    const RunCell* cell = place.cell.run();
    const bool second = place.cell.second();
    HeadIndex s = place.head;
    // An encoder has no logits.
    const bool of_logit =
        place.cell.is(Stage::logit) || place.cell.is(Stage::w_head) || place.cell.is(Stage::b_head);
    if (of_logit && writes_another()) s.layer = std::max(s.layer, open_.model->config().layers);
    // The other model may have fewer heads, so the nearest one stands beside this one's.
    if (shown && second) s = {std::min(s.layer, shown->layers() - 1), std::min(s.head, shown->heads() - 1)};
    if (!shown || s.layer >= shown->layers() || s.head >= shown->heads()) return std::nullopt;
    shown = &shown->of(s.layer);
    if (const MapSum* sum = place.cell.sum())
        return sums_.of(visit(), *shown, place.head, *sum,
                        [&](const CellPlace& at) { return explain_at(at); });
    if (!cell) return std::nullopt;
    if (cell->stage == Stage::head_score)
        return scores_.of(run()->of(cell->mean == HeadMean::one ? cell->row / run()->heads() : 0), *cell,
                          looks_of(state()).map.spans);
    if (cell->stage == Stage::probability) return explain_next(*cell);
    if (cell->mean != HeadMean::one && cell->stage == Stage::weight)
        return explain_mean(*shown, s, *cell, [&](const CellPlace& at) { return explain_at(at); });
    auto out = explain_run_cell(*shown, s, *cell, looks_of(state()).map.spans);
    if (out)
        out->provenance = shown->numbering().name(s.layer) + ", head " + std::to_string(s.head) +
                          (!second                  ? shows_changed() ? ", changed run" : ""
                           : now().compared->before ? ", before the change"
                           : compares_models()      ? ""
                                                    : ", second sentence") +
                          " · computed by " +
                          shown_name(second && compares_models() ? beside_.name : open_.name);
    return out;
}

std::string SentenceSubject::status() {
    const TextRun* shown = run();
    if (!shown) return open_.model ? shown_name(open_.name) : "no model";
    return tokens_told() + "   " + layers_told() + " × " + many(shown->heads(), "head") + "   forward " +
           (sentence_.forward_ms() < 1 ? "under 1" : fixed(sentence_.forward_ms(), 0)) + " ms";
}

std::string SentenceSubject::probe() const {
    nlohmann::json json{{"model", open_.name},
                        {"text", now().text},
                        {"tokens", run() ? run()->tokens() : 0},
                        {"forward_ms", sentence_.forward_ms()}};
    if (run()) {
        json["ids"] = std::vector<int>(run()->ids().begin(), run()->ids().end());
        json["pieces"] = run()->pieces;
        json["words"] = run()->words.names;
        json["predicted"] = run()->predicted();
        json["changed"] = shows_changed();
        json["segments"] = std::vector<int>(run()->run->segments().begin(), run()->run->segments().end());
        if (writes_another()) {
            const TextRun& encoder = run()->of(0);
            json["written"] = now().written;
            json["encoder_ids"] = std::vector<int>(encoder.ids().begin(), encoder.ids().end());
            json["encoder_pieces"] = encoder.pieces;
        }
        if (const HeadOverview* heads = run()->overview())
            json["heads"] = {heads->maps().sampled(), heads->maps().exact(), heads->scored()};
    }
    if (compared_run()) {
        json["second_pieces"] = compared_run()->pieces;
        json["second_predicted"] = compared_run()->predicted();
    }
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string SentenceSubject::probe_logits() const {
    if (!run()) return "null";
    const auto logits = run()->logits.values();
    return nlohmann::json(std::vector<float>(logits.begin(), logits.end())).dump();
}

}  // namespace attn::app
