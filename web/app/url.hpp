// The State as a URL fragment, so that a link is a document.
//
// "#v=1&ex=three-tokens&Q=3x2:1,0,0,1,1,2&mask=causal,0&T=0.5&pin=weight.0.1": keys and values
// percent-encoded, everything that the default (or the named example) already says is left out, and so is a
// text of more than 2,000 characters. Numbers are written shortest and read back to the same bits. A fragment
// is hostile input: sizes are checked before anything is allocated.
#pragma once

#include <string>
#include <string_view>

#include "app/state.hpp"

namespace attn::app {

std::string to_fragment(const State& state);  // without '#'; empty for the default state

struct ParsedFragment {
    State state;
    std::string
        note;  // one sentence when something was dropped; the rest of the state is kept where it can be
};
// Accepts a leading '#'. A fragment that cannot be read at all gives the default state with a note.
ParsedFragment parse_fragment(std::string_view fragment);

}  // namespace attn::app
