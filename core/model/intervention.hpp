// Changes to a run: at a site of an attention or of the block around it, what an edit does to some of its
// numbers.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "attention/edit.hpp"
#include "attention/mask.hpp"
#include "model/network.hpp"

namespace attn {

class Trace;

// What a run computes (model/trace.hpp), in this order. Whatever reads it, reads what the edits leave. The
// last three are those of the block that the attention belongs to.
enum class Site {
    resid_pre,  // before cross-attention: the residual between the two attentions
    q,          // what scores are made of: normalised and rotated
    k,          // likewise; heads of K and V, and their tokens
    v,
    score,        // scaled, capped and with its bias; where the mask forbids a key, its score is not read
    mask,         // 1: the query sees the key
    weight,       // behind the softmax; its row is not made to add up to 1 again
    head_output,  // one head's, before W_O
    attention_output,  // all heads', with W_O and its bias
    resid_mid,         // between attention and MLP
    mlp_output,
    resid_post,
};
inline constexpr int site_count = static_cast<int>(Site::resid_post) + 1;
struct SiteInfo {
    Site site;
    std::string_view key;   // in links
    std::string_view name;  // "residual before attention"
};
inline constexpr std::array<SiteInfo, site_count> site_table{{
    {Site::resid_pre, "residual_in", "residual before attention"},
    {Site::q, "q", "q"},
    {Site::k, "k", "k"},
    {Site::v, "v", "v"},
    {Site::score, "score", "score"},
    {Site::mask, "mask", "mask"},
    {Site::weight, "weight", "weight"},
    {Site::head_output, "head_output", "head output"},
    {Site::attention_output, "attention_output", "attention output"},
    {Site::resid_mid, "residual_middle", "residual between attention and MLP"},
    {Site::mlp_output, "mlp_output", "MLP output"},
    {Site::resid_post, "residual_out", "residual after the MLP"},
}};
static_assert(std::ranges::equal(site_table, std::views::iota(0, site_count), {},
                                 [](const SiteInfo& row) { return static_cast<int>(row.site); }),
              "the rows of site_table are in the order of Site, one for each");
constexpr const SiteInfo& info(Site site) { return site_table[static_cast<std::size_t>(site)]; }
constexpr std::optional<Site> site_by_key(std::string_view key) {
    for (int i = 0; i < site_count; ++i)
        if (site_table[static_cast<std::size_t>(i)].key == key) return static_cast<Site>(i);
    return std::nullopt;
}
// Rows are queries and columns are keys.
constexpr bool is_of_cells(Site site) {
    return site == Site::score || site == Site::mask || site == Site::weight;
}
constexpr bool is_of_heads(Site site) { return site >= Site::q && site <= Site::head_output; }

struct Intervention {
    Index attention = 0;  // its number (Network::attentions)
    Site site = Site::head_output;
    Edit edit{};
    // Source runs: several for mean_of_texts, exactly one for patch.
    std::vector<std::shared_ptr<const Trace>> from{};
    bool operator==(const Intervention&) const = default;
};

// Returns them as a run takes them, in their order, after a run of the same text: means and patches of
// vectors become the values that they are, and those of several heads one for each. A mean of vectors is
// taken over the tokens of `before`, one over texts over all of theirs; a mean over texts of scores or
// weights is that of the same cell. What the run before has stays as it is. Fails with one sentence if there
// is no such attention, head, row or column, if values are too many, too few or not finite, or if the other
// runs do not fit.
Result<std::vector<Intervention>> resolved(const std::vector<Intervention>& interventions,
                                           const Trace& before);
// The same without the values, which takes no time that grows with the text.
Status check_interventions(const std::vector<Intervention>& interventions, const Trace& before);

// The sizes of a site, [heads, rows, columns]: rows are tokens or queries, columns components or keys. What
// belongs to all heads together has one.
struct SiteExtent {
    Index heads, rows, columns;
};
SiteExtent extent_of(const Trace& trace, Index attention, Site site);
// What a run has at a site of vectors, [heads, rows, columns].
ConstHeads numbers_at(const Trace& trace, Index attention, Site site);

// The computed value of a number of such a site, in double, and what each intervention that touches it left
// of it.
struct ChangedBy {
    const Intervention* intervention;  // one of the run's
    double value;
};
std::vector<ChangedBy> explain_changes(const Trace& trace, Index attention, Site site, Index head, Index row,
                                       Index column, double computed);

// "q of head 3 in layer 2, tokens 0, 4 to 6: set to 1".
std::string text_of(const Intervention& intervention, const Network& network);
std::string operation_text(const Intervention& intervention);  // "set to 1"

// What both begin with.
std::size_t common(const std::vector<Intervention>& a, const std::vector<Intervention>& b);
// Whether it changes a site of an attention, or of the block that the attention belongs to.
bool is_at(const Intervention& each, const Network& model, Index attention, Site site);
// Whether it may let a query see keys that its model hides from it.
bool may_look_ahead(const Intervention& each);
// A mask under the interventions on it.
Mask changed_mask(Mask mask, const std::vector<Intervention>& interventions, Index attention, Index heads,
                  Index queries, Index keys);
// The interventions on an attention's scores and weights, in the form that its Record takes; null: none.
std::shared_ptr<const CellEdits> cell_edits(const std::vector<Intervention>& interventions, Index attention);

}  // namespace attn
