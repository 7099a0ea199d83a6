// Writes the State as a URL fragment and reads it back, so that a link is a document.
//
// "#v=1&ex=three-tokens&Q=3x2:1,0,0,1,1,2&mask=causal,0&T=0.5&pin=weight.0.1": keys and values are
// percent-encoded. Whatever equals the default (or the named example) is left out, and so is a text of more
// than 32,000 characters; a value of more than 2,000 is packed, as "text~=…". Numbers are written with as few
// digits as read back to the same bits. A fragment is hostile input: sizes are checked before anything is
// allocated.
//
// The keys come from the rows of all subjects and lenses (app/link_rows.hpp). "lens" names a lens, or the
// subject in links made before subjects had a key of their own.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/state.hpp"

namespace attn::app {

std::string to_fragment(const State& state);  // without '#'; empty for the default state
// Writes only what concerns the open subject: neither what is chosen in others nor a lesson.
std::string to_subject_fragment(const State& state);
// Returns the keys of that fragment, with their values as they are before they are encoded.
std::map<std::string, std::string> link_values(const State& state);
bool is_link_key(std::string_view key);
// Compares two States by what their links say.
class LinkComparison {
  public:
    LinkComparison(const State& a, const State& b) : a_(link_values(a)), b_(link_values(b)) {}
    // Says whether both have the same value of a key; a matrix is the same only in the same example.
    bool is_same(std::string_view key) const;
    // Returns the keys whose values differ, but for those of what is selected and pinned.
    std::vector<std::string> changed() const;

  private:
    std::map<std::string, std::string> a_, b_;
};
// Says whether the State has something too long for its link.
bool leaves_out(const State& state);

struct ParsedFragment {
    State state;
    std::string note;  // one sentence if something was dropped; the rest is kept where possible
};
// Accepts a leading '#'. If a fragment cannot be read at all, returns the default state with a note.
ParsedFragment parse_fragment(std::string_view fragment);

}  // namespace attn::app
