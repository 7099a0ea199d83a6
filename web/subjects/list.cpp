// Lists the subjects, one per line, in the order of the tabs. Only this list and the subject's own folder
// refer to a subject by name.
#include <array>

#include "app/catalogue.hpp"
#include "subjects/sentence/sentence.hpp"
#include "subjects/tensors/tensors.hpp"
#include "subjects/training/training.hpp"
#include "subjects/worked/worked.hpp"

namespace attn::app {

namespace {

template <class S>
std::unique_ptr<Resident> make(Visit& visit) {
    return std::make_unique<S>(visit);
}

}  // namespace

std::span<const SubjectEntry> subject_list() {
    static const std::array<SubjectEntry, 4> list{{
        {worked_subject, "Example", "ladder", worked_may_select, worked_may_pin, nullptr, worked_links(),
         make<WorkedSubject>},
        {sentence_subject, "Sentence", "overview", sentence_may_select, sentence_may_pin, sentence_has_second,
         sentence_links(), make<SentenceSubject>},
        {tensors_subject, "Your tensors", "overview", tensors_may_select, tensors_may_pin, nullptr,
         tensors_links(), make<TensorsSubject>},
        {training_subject, "Training", "curves", training_may_select, training_may_pin, nullptr,
         training_links(), make<TrainingSubject>},
    }};
    return list;
}

}  // namespace attn::app
