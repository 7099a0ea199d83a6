// Internal to match: holds what is known of the tensors and what is still to be asked.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/tensor_match.hpp"
#include "io/tensor_names.hpp"

namespace attn {

using Places = std::vector<std::size_t>;  // indices into FoundFiles::tensors

// A subject can be shown: it is finished weights, or Q and K.
struct Subject {
    std::string id, text;
    Places weights;
    std::optional<std::size_t> q, k, v;
};

// Makes texts like "8 queries × 9 keys".
inline std::string count_of(Index count, std::string_view what) {
    return std::to_string(count) + " " + std::string(what);
}

// One call of match. The subject is chosen in tensor_match.cpp and placed in tensor_place.cpp.
class Matcher {
  public:
    Matcher(const FoundFiles& found, const Answers& answers) : found_(found), answers_(answers) {}

    Result<std::variant<Matched, std::vector<Question>>> run();
    // Says whether a run that failed may have missed a tensor that is in another file.
    bool lacks() const { return lacks_ && found_.notes.empty(); }

  private:
    // Returns the answer if it is among these choices; otherwise adds the question.
    std::optional<std::string> ask(std::string id, std::string text, std::vector<Choice> choices);
    Choice choice(std::size_t tensor) const { return {id(tensor), shown(tensor)}; }

    const FoundTensor& tensor(std::size_t i) const { return found_.tensors[i]; }
    std::string id(std::size_t i) const { return tensor(i).file + ":" + tensor(i).name; }
    std::string shown(std::size_t i) const;      // "'q' of run.npz, 12×64×64"
    std::string container(std::size_t i) const;  // the file, if it holds several tensors; "": only this one
    bool is_square(std::size_t i) const;

    Error missing(std::string what) const;
    Status sort_by_role();
    void add_groups(std::vector<Subject>& subjects) const;
    void add_weights(std::vector<Subject>& subjects, const Places& tensors, bool named) const;
    Result<std::optional<Subject>> choose_subject();
    Result<std::optional<Subject>> choose_among_unnamed();
    Result<std::optional<Subject>> choose_each();

    Status choose_elements(PlacedTensor& place, int from, int to);
    Status place_weights(const Subject& subject);
    Status place_qkv(const Subject& subject);
    void place_all(const Subject& subject, AxisOrder order);
    Status check_qkv() const;
    void choose_mask(std::size_t q);
    bool mask_fits() const;
    void choose_mask_meaning();
    bool tokens_number(Index queries, Index keys) const;  // whether a tokens file has as many
    void choose_tokens(const Subject& subject);
    std::vector<std::string> tokens_of(Role axis, Index count, const std::vector<std::string>& labels);
    void add_notes();

    const FoundFiles& found_;
    const Answers& answers_;
    std::vector<NameParts> names_;
    std::map<std::string, int> in_file_;  // how many tensors each file holds
    std::array<Places, 5> by_role_;
    Places unnamed_;
    Matched matched_;
    std::set<const FoundTokens*> used_tokens_;
    std::vector<Question> questions_;
    bool lacks_ = true;
};

}  // namespace attn
