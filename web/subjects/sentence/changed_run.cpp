#include "subjects/sentence/changed_run.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/format.hpp"
#include "model/generate.hpp"
#include "subjects/vocabulary.hpp"

namespace attn::app {

bool ChangedRun::has(const std::vector<Intervention>& by, const TextRun& unchanged) const {
    return (job.run() || job.running()) && by == by_ && of_ == unchanged.version();
}

Status ChangedRun::begin(const TextJob& unchanged, std::vector<Intervention> by) {
    by_ = std::move(by);
    of_ = unchanged.run()->version();
    Status begun = job.change(unchanged, by_);
    if (!begun) clear();
    return begun;
}

void ChangedRun::measure(TextRun& before, TextRun& after, Page& page) {
    const Index row = after.predicted();
    if (row >= before.tokens()) return;
    before.predict(row);
    const Sampling plain{.temperature = 1};
    const auto likeliest = next_token_distribution(before.logits.values(), plain, 1);
    if (likeliest.empty()) return;
    const auto all = next_token_distribution(after.logits.values(), plain, after.logits.size());
    const auto same = std::ranges::find(all, likeliest.front().id, &Candidate::id);
    if (same == all.end()) return;
    auto pieces = page.ids_to_text(std::array{same->id, all.front().id});
    pieces.resize(2);
    effect_ = {after.version(),        pieces[0], pieces[1], likeliest.front().probability, same->probability,
               all.front().probability};
}

std::string ChangedRun::told(const TextRun* shown) const {
    const Effect& e = effect_;
    if (!shown || e.version != shown->version()) return "";
    const std::string was = curly_quoted(Vocabulary::bare(e.was));
    std::string moved = was + " " + chance_change(e.before, e.after);
    if (e.now == e.was) return moved;
    return "Now " + curly_quoted(Vocabulary::bare(e.now)) + " " + percent(e.likeliest) + ", before " + was +
           " " + percent(e.before) + "; " + moved;
}

std::optional<std::string> ChangedRun::announcement(const TextRun* shown) {
    std::string now = told(shown);
    if (now == announced_) return std::nullopt;
    announced_ = now;
    return (now.empty() ? "The run is as before the change" : std::move(now)) + ".";
}

}  // namespace attn::app
