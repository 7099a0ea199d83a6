// Tensors of a person's own in a visit.
#include <algorithm>

#include "app/session.hpp"

namespace attn::app {

namespace {

std::string listed(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < 4; ++i)
        text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + names[i];
    return names.size() > 4 ? text + " and " + std::to_string(names.size() - 4) + " more" : text;
}

}  // namespace

std::string Session::wanted_tensors() const {
    return tensors_.open() || state().tensors.files.empty() ? "" : listed(state().tensors.files);
}

void Session::close_tensors() {
    tensors_.close();
    perform(OpenTensors{});
}

bool Session::work_on_tensors(double until_ms) {
    const bool more = tensors_.work(state().tensors.rule, until_ms);
    if (const auto error = tensors_.take_error()) report_error(*error);
    if (tensors_.take_asked() && state().lens != LensId::tensors) perform(OpenLens{LensId::tensors});
    if (tensors_.take_opened()) {
        const TensorSet& set = *tensors_.open();
        perform(OpenTensors{names_of(set.files())});
        fit_selection();
        page_.announce(set.title() + ": " + set.summary() + ".");
    }
    return more;
}

// Of those that are open, where a link or a step back names others.
void Session::name_open_tensors(State& wanted, bool say) {
    const TensorSet* set = tensors_.open();
    if (!set || wanted.tensors.files == names_of(set->files())) return;
    if (say && wanted.lens == LensId::tensors && !wanted.tensors.files.empty())
        page_.notice("This link was made with " + listed(wanted.tensors.files) + ". Drop " +
                         (wanted.tensors.files.size() == 1 ? "it" : "them") +
                         " onto the page to see the same.",
                     false);
    wanted.tensors.files = names_of(set->files());
}

void Session::fit_selection_to_tensors() {
    const TensorSet* set = tensors_.open();
    if (!set) return;
    Selection selection = state().selection;
    selection.layer = std::min(selection.layer, set->layers() - 1);
    selection.head = std::min(selection.head, set->heads() - 1);
    if (selection.query && *selection.query >= set->queries()) selection.query.reset();
    if (selection.key && *selection.key >= set->keys()) selection.key.reset();
    if (const auto& pin = state().pin) {
        const Index rows = pin->words ? set->query_words().count() : set->queries(),
                    cols = pin->words ? set->key_words().count() : set->keys();
        if (pin->row >= rows || pin->col >= cols) perform(Pin{std::nullopt});
    }
    if (selection != state().selection) perform(Select{selection});
}

}  // namespace attn::app
