#include "parts/token_choice.hpp"

#include <imgui.h>

#include <algorithm>

#include "parts/token_field.hpp"
#include "widgets/controls.hpp"
#include "widgets/layout.hpp"

namespace attn::parts {

namespace {

constexpr std::size_t most_of_text = 64;

// Draws two lists of tokens.
class TokenLists {
  public:
    TokenLists(const TokenChoice& choice, app::Subject& subject) : choice_(choice), loss_(*choice.loss) {
        offer(loss_.raise);
        offer(loss_.over.value_or(loss_.raise));
        for (const std::int32_t id : choice.typed) offer(id);
        for (const app::LikeliestTokens* row : choice.rows)
            for (const Candidate& each : row->tokens) offer(each.id);
        const auto text = choice.rows.front()->trace->ids();
        for (const std::int32_t id : text.last(std::min(text.size(), most_of_text))) offer(id);
        names_ = choice.vocabulary.names(subject, ids_);
    }

    void draw(std::optional<std::int32_t>& raise, std::optional<std::int32_t>& over) const {
        ui::labelled_list("the logit of", choice_.key + "/raise", name(loss_.raise), ui::menu_width,
                          [&](const ui::ListOptions& list) {
                              for (const std::int32_t id : ids_)
                                  if (option(list, id, id == loss_.raise)) {
                                      raise = id;
                                      over = loss_.over == id ? loss_.raise : loss_.over;
                                  }
                          });
        ui::labelled_list("over that of", choice_.key + "/over", loss_.over ? name(*loss_.over) : "nothing",
                          ui::menu_width, [&](const ui::ListOptions& list) {
                              if (list.option("none", "nothing", !loss_.over)) {
                                  raise = loss_.raise;
                                  over = std::nullopt;
                              }
                              for (const std::int32_t id : ids_)
                                  if (id != loss_.raise && option(list, id, loss_.over == id)) {
                                      raise = loss_.raise;
                                      over = id;
                                  }
                          });
    }

  private:
    void offer(std::int32_t id) {
        if (std::ranges::find(ids_, id) == ids_.end()) ids_.push_back(id);
    }
    const std::string& name(std::int32_t id) const {
        return names_[static_cast<std::size_t>(std::ranges::find(ids_, id) - ids_.begin())];
    }
    bool option(const ui::ListOptions& list, std::int32_t id, bool on) const {
        return list.option(std::to_string(id), name(id), on);
    }

    const TokenChoice& choice_;
    const LogitLoss& loss_;
    std::vector<std::int32_t> ids_;
    std::vector<std::string> names_;
};

}  // namespace

void draw_token_choice(const TokenChoice& choice, app::Subject& subject, std::optional<std::int32_t>& raise,
                       std::optional<std::int32_t>& over) {
    const bool is_chosen = raise.has_value();
    if (choice.loss) TokenLists(choice, subject).draw(raise, over);
    if (ui::next_control(ui::need::many_choices))
        token_field((choice.key + "/token").c_str(), "or type it", "The token whose logit is asked about",
                    choice.search);
    if (const auto found = choice.vocabulary.find(choice.search, choice.rows.front()->logits.values())) {
        std::erase(choice.typed, *found);
        choice.typed.insert(choice.typed.begin(), *found);
        raise = found;
        if (choice.loss) over = choice.loss->over;
        if (over == found) over = std::nullopt;
    }
    const char* const label = "The likeliest";
    if (ui::next_button(label) &&
        ui::button((choice.key + "/likeliest").c_str(), label,
                   is_chosen ? ok() : Status(Error{"It is what is asked about already."})))
        raise = over = std::nullopt;
}

}  // namespace attn::parts
