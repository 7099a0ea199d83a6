// Implements the run under the user's interventions. It starts from the unchanged run, and all lenses show
// it.
#include <algorithm>
#include <iterator>
#include <utility>

#include "app/format.hpp"
#include "subjects/sentence/sentence.hpp"

namespace attn::app {

TextRun* SentenceSubject::compared_run() const {
    if (!now().compared || !now().compared->before) return compared_.run();
    // A run compared with itself shows nothing.
    return shows_changed() ? sentence_.run() : nullptr;
}

std::shared_ptr<const Trace> SentenceSubject::run_beside() const {
    const TextRun* beside = compares_models() ? nullptr : compared_.run();
    return beside && !compared_.running() ? beside->run : nullptr;
}

void SentenceSubject::begin_changed() {
    const TextRun* unchanged = sentence_.run();
    if (!unchanged || sentence_.running()) return;
    auto wanted = interventions_of(now().changes.all, *unchanged->run, other_runs());
    if (wanted.empty()) return changed_.clear();
    if (changed_.has(wanted, *unchanged)) return;
    if (model_bytes() + 2 * sentence_.bytes() + compared_.bytes() > run_bytes_limit) {
        changed_.clear();
        return visit().report_error(
            {"A changed run beside the first needs more memory than a browser tab has; shorten the text."});
    }
    if (Status begun = changed_.begin(sentence_, std::move(wanted)); !begun)
        visit().report_error(begun.error());
}

void SentenceSubject::run_shown() {
    next_ = {};
    if (!run()) return;
    if (is_open()) fit_selection();
    refresh_next();
    announce_change();
}

void SentenceSubject::measure_change() {
    changed_.forget_effect();
    if (shows_changed() && !changed_.job.running())
        changed_.measure(*sentence_.run(), *run(), visit().page());
}

void SentenceSubject::announce_change() {
    if (!is_open() || changed_.job.running()) return;
    if (auto said = changed_.announcement(run())) visit().announce(*std::move(said));
}

std::optional<Offer> SentenceSubject::offer_without(const HeadIndex& head) const {
    if (!run()) return std::nullopt;
    const RunChange off{.at = {.site = Site::head_output, .attention = head.layer, .head = head.head},
                        .operation = Operation::zero};
    const std::vector<RunChange>& all = now().changes.all;
    if (const auto done = std::ranges::find(all, off); done != all.end())
        return Offer{switch_on, DropChange{static_cast<std::size_t>(done - all.begin())}};
    return Offer{switch_off, ChangeRun{off}};
}

Result<Command> SentenceSubject::add_to_query(const HeadIndex& head, Index query,
                                              std::span<const float> by) const {
    const RunChanges& changes = now().changes;
    if (!run() || changed_.job.running()) return Error{"The model is still running."};
    if (changes.before) return Error{"This is the run before its changes: press B for the changed one."};
    RunChange step{.at = {.site = Site::q, .attention = head.layer, .head = head.head, .row = query},
                   .operation = Operation::add,
                   .values = {by.begin(), by.end()}};
    const auto same =
        std::ranges::find_if(changes.all, [&](const RunChange& each) { return each.at == step.at; });
    if (same == changes.all.end()) return Command(ChangeRun{step});
    // Successive steps add up to one, as long as no later change touches their result.
    const bool last = std::none_of(same + 1, changes.all.end(), [&](const RunChange& each) {
        return each.on && each.at.site == Site::q && each.at.attention == head.layer;
    });
    if (!last || !same->on || same->values.size() != step.values.size())
        return Error{"Its q is changed in another way already: take that back first."};
    for (std::size_t i = 0; i < step.values.size(); ++i) step.values[i] += same->values[i];
    return Command(ChangeRun{step});
}

std::optional<std::size_t> SentenceSubject::steering_change() const {
    const std::vector<RunChange>& all = now().changes.all;
    const auto last = std::find_if(all.rbegin(), all.rend(),
                                   [](const RunChange& each) { return each.direction.has_value(); });
    if (last == all.rend()) return std::nullopt;
    return static_cast<std::size_t>(all.rend() - last - 1);
}

std::optional<Steering> SentenceSubject::steering() const {
    const auto at = steering_change();
    if (!at) return std::nullopt;
    const RunChange& change = now().changes.all[*at];
    Steering steering = steering_of(change);
    if (!change.on) steering.dial = 0;
    return steering;
}

Command SentenceSubject::steer(const Steering& steering) const {
    return ChangeRun{change_of(steering), steering_change()};
}

Result<SteeredRun> SentenceSubject::steered(const Steering& steering) {
    if (!sentence_.run() || sentence_.running()) return Error{"The model is still running."};
    const auto& unchanged = sentence_.run()->run;
    const RunChange change = change_of(steering);
    const OtherRuns others = other_runs(&change);
    if (needs_contrast(change) && texts_for(steering.direction) == 0 && reads_texts())
        return Error{"The model reads the positive and negative texts."};
    auto vector = steering_vector(steering, *unchanged, others.for_steering());
    if (!vector) return vector.error();
    SteeredRun out{.unchanged = unchanged, .vector = *std::move(vector)};
    std::vector<RunChange> all = now().changes.all;
    const std::size_t place = steering_change().value_or(all.size());
    all.resize(std::max(all.size(), place + 1));
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (i == place) {
            out.at = out.changes.size();
            out.changes.push_back(intervention_of(steering, out.vector));
            continue;
        }
        std::ranges::move(interventions_of({all[i]}, *unchanged, others), std::back_inserter(out.changes));
    }
    return out;
}

std::vector<Offer> SentenceSubject::change_offers() const {
    std::vector<Offer> all;
    if (!run()) return all;
    const Selection& s = state().selection;
    const TextRun& shown = *chosen_run();
    if (s.layer >= shown.layers() || s.head >= shown.heads()) return all;
    const Layers& layers = shown.numbering();
    const std::string layer = layers.name(s.layer);
    const auto add = [&](std::string label, Site site, Operation operation, bool of_head) {
        all.push_back(
            {std::move(label), ChangeRun{{.at = {.site = site,
                                                 .attention = s.layer,
                                                 .head = of_head ? std::optional(s.head) : std::nullopt},
                                          .operation = operation}}});
    };
    if (auto without = offer_without({s.layer, s.head})) all.push_back(*std::move(without));
    add("Let this head give its mean for every token", Site::head_output, Operation::mean, true);
    if (!writes_another())
        add("Let this head give its mean over many texts", Site::head_output, Operation::mean_of_texts, true);
    add("Spread this head’s weights evenly", Site::weight, Operation::mean, true);
    if (run_beside()) {
        add("Take this head’s output from the other text", Site::head_output, Operation::patch, true);
        if (s.query && *s.query < shown.queries())
            all.push_back({"Take " + curly_quoted(shown.query_names()[static_cast<std::size_t>(*s.query)]) +
                               " before " + layer + " from the other text",
                           ChangeRun{{.at = {.site = Site::resid_pre, .attention = s.layer, .row = *s.query},
                                      .operation = Operation::patch}}});
    }
    add("Switch all attention of " + layer + " off", Site::attention_output, Operation::zero, false);
    add("Switch the MLP of " + layer + " off", Site::mlp_output, Operation::zero, false);
    if (s.query && s.key && *s.query < shown.queries() && *s.key < shown.keys())
        all.push_back({"Hide " + curly_quoted(shown.key_names()[static_cast<std::size_t>(*s.key)]) +
                           " from " + curly_quoted(shown.query_names()[static_cast<std::size_t>(*s.query)]) +
                           " in this head",
                       ChangeRun{{.at = {.site = Site::mask,
                                         .attention = s.layer,
                                         .head = s.head,
                                         .row = *s.query,
                                         .column = *s.key},
                                  .operation = Operation::zero}}});
    if (now().changes.any_on())
        all.push_back({now().changes.before ? "Show the changed run" : "Show the run before its changes",
                       ShowBefore{!now().changes.before}});
    if (!now().changes.all.empty()) all.push_back({"Take all changes back", DropChange{}});
    return all;
}

}  // namespace attn::app
