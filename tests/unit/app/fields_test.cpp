// Tests that a table of a State's fields is enough to read, write, refuse and describe them.
#include "app/fields.hpp"

#include <catch_amalgamated.hpp>

#include "app/catalogue.hpp"
#include "app/link.hpp"

using namespace attn;
using namespace attn::app;

namespace {

enum class Pet { cat, dog };
constexpr std::array<std::string_view, 2> pets{"cat", "dog"};

struct Zoo {
    Index cages = 3;
    double share = 0.5;
    Pet pet = Pet::cat;
    bool open = false;
    std::optional<Index> keeper = {};
    bool operator==(const Zoo&) const = default;
    static const Fields<Zoo>& fields();
};

const Fields<Zoo>& Zoo::fields() {
    static const Field<Zoo> all[]{
        {"zoo.cages", "cages {}", whole<&Zoo::cages>("number of cages", 1, 2000), named<&Zoo::pet>(pets)},
        {"zoo.share", "share {}", real<&Zoo::share>("share", 0, 1)},
        {"zoo.open", {"the zoo is open", "the zoo is closed"}, word<&Zoo::open>("yes")},
        {"zoo.keeper", {"keeper {}", "no keeper"}, whole<&Zoo::keeper>("number of the keeper", 0, 9)},
    };
    static const Fields<Zoo> fields{.all = all, .check = [](const Zoo& zoo) -> Status {
                                        if (zoo.open && !zoo.keeper)
                                            return Error{"An open zoo has a keeper."};
                                        return ok();
                                    }};
    return fields;
}

std::optional<std::string> written(const Zoo& zoo, std::size_t row) {
    State state = default_state();
    state.edit<Zoo>() = zoo;
    return rows_of_fields<Zoo, 4>()[row].write(state, default_state());
}
std::optional<Zoo> read(std::size_t row, const std::string& text) {
    State state = default_state();
    return rows_of_fields<Zoo, 4>()[row].read(state, text) ? std::optional(state.of<Zoo>()) : std::nullopt;
}
std::string refused(const Zoo& zoo) {
    State state = default_state();
    const Status done = Set<Zoo>{zoo}.apply(state);
    REQUIRE_FALSE(done);
    CHECK(state.of<Zoo>() == Zoo{});
    return done.error().message;
}

}  // namespace

TEST_CASE("fields with default values, and trailing default values, are left out of links") {
    CHECK_FALSE(written({}, 0));
    CHECK(written({.cages = 7}, 0) == "7");
    CHECK(written({.pet = Pet::dog}, 0) == "3,dog");
    CHECK(written({.share = 0.1}, 1) == "0.1");
    CHECK(written({.open = true}, 2) == "yes");
    CHECK_FALSE(written({}, 3));
    CHECK(written({.keeper = 0}, 3) == "0");
}

TEST_CASE("a field is read back as written, within its limits") {
    CHECK(read(0, "7") == Zoo{.cages = 7});
    CHECK(read(0, "7,dog") == Zoo{.cages = 7, .pet = Pet::dog});
    for (const char* bad : {"", "0", "2001", "7,", "7,bird", "7,dog,1", "7.5", "dog"}) {
        INFO(bad);
        CHECK_FALSE(read(0, bad));
    }
    CHECK(read(1, "0.25") == Zoo{.share = 0.25});
    for (const char* bad : {"", "nan", "-0.1", "1.5", "half"}) CHECK_FALSE(read(1, bad));
    CHECK_FALSE(read(2, "yes"));  // an open zoo has a keeper
    CHECK_FALSE(read(2, "no"));
    CHECK(read(3, "9") == Zoo{.keeper = 9});
    CHECK_FALSE(read(3, "10"));
}

TEST_CASE("the allowed values of a field are declared once, for links and for refusals") {
    const auto rows = rows_of_fields<Zoo, 4>();
    CHECK(rows[0].expected == "a number of cages from 1 to 2,000, then cat or dog");
    CHECK(rows[1].expected == "a share from 0 to 1");
    CHECK(rows[2].expected == "yes");
    CHECK(refused({.cages = 0}) == "The number of cages must be from 1 to 2,000.");
    CHECK(refused({.share = NAN}) == "The share must be from 0 to 1.");
    CHECK(refused({.open = true}) == "An open zoo has a keeper.");
}

TEST_CASE("a change is named after the first field that differs") {
    const State before = default_state();
    CHECK(Set<Zoo>{{.cages = 7, .share = 0.1}}.describe(before) == "cages 7");
    CHECK(Set<Zoo>{{.share = 0.1}}.describe(before) == "share 0.1");
    State open = before;
    open.edit<Zoo>() = {.open = true, .keeper = 2};
    CHECK(Set<Zoo>{{.keeper = 2}}.describe(open) == "the zoo is closed");
    CHECK(Set<Zoo>{{.open = true}}.describe(open) == "no keeper");
}
