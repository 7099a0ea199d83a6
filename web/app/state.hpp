// Holds everything that a user can set, as plain, comparable values. The difference between two States says
// what to recompute, a list of them is undo, and a State written as text is a link. Results that follow from
// a State (runs, traces) are not in it.
//
// A State is made of parts. Each part is a plain struct that one subject or lens owns and defines in its own
// folder; the State knows them only by type. Copies of a State share the parts that neither has changed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/cell.hpp"
#include "tensor/tensor.hpp"

namespace attn::app {

inline constexpr Index position_limit = 1'000'000;  // limits layers, heads and tokens that can be chosen

// All lenses share the selection: what is chosen in one is highlighted in the others. Each subject has its
// own.
struct Selection {
    Index layer = 0;
    Index head = 0;
    std::optional<Index> query;
    std::optional<Index> key;
    // The token of a second text that the query is compared with; none: the token aligned with it.
    std::optional<Index> counterpart = {};
    void forget_tokens() { query = key = counterpart = std::nullopt; }
    bool operator==(const Selection&) const = default;
};

struct Chosen {
    Selection selection;
    std::optional<CellRef> pin;
    bool operator==(const Chosen&) const = default;
};
// Maps the keys of subjects that are not open to their selections, where there are any.
struct OtherChoices {
    std::map<std::string_view, Chosen> of;
    bool operator==(const OtherChoices&) const = default;
};

// Returns the initial value of a part: Part::initial(), or a Part{}.
template <class Part>
const Part& initial() {
    static const Part part = [] {
        if constexpr (requires { Part::initial(); })
            return Part::initial();
        else
            return Part{};
    }();
    return part;
}

class State {
  public:
    // Keys of app/catalogue.hpp. The strings live as long as the program.
    std::string_view subject, lens;
    Selection selection;
    std::optional<CellRef> pin;  // the cell whose explanation stays open

    template <class Part>
    const Part& of() const {
        const auto* kept = static_cast<const Kept<Part>*>(find(&id_of<Part>));
        return kept ? kept->part : initial<Part>();
    }

    // Returns the part for changing; other States keep theirs.
    template <class Part>
    Part& edit() {
        std::shared_ptr<AnyPart>& kept = place(&id_of<Part>);
        if (!kept || kept.use_count() > 1) kept = std::make_shared<Kept<Part>>(of<Part>());
        return static_cast<Kept<Part>&>(*kept).part;
    }

    bool operator==(const State& other) const;
    // Says whether both States hold the same object as this part.
    template <class Part>
    bool shares(const State& other) const {
        return &of<Part>() == &other.of<Part>();
    }

  private:
    struct AnyPart {
        virtual ~AnyPart() = default;
        virtual bool equals(const AnyPart* other) const = 0;  // null: an initial part
    };
    template <class Part>
    struct Kept final : AnyPart {
        Part part;
        explicit Kept(const Part& from) : part(from) {}
        bool equals(const AnyPart* other) const override {
            return part == (other ? static_cast<const Kept*>(other)->part : initial<Part>());
        }
    };
    // Identifies the type of a part by its address.
    template <class Part>
    static inline char id_of = 0;
    struct Place {
        const void* id;
        std::shared_ptr<AnyPart> part;
    };

    const AnyPart* find(const void* id) const;
    std::shared_ptr<AnyPart>& place(const void* id);

    std::vector<Place> places_;  // only the parts that somebody has changed
};

}  // namespace attn::app
