#include "lenses/memory/memory.hpp"

#include <algorithm>
#include <catch_amalgamated.hpp>
#include <cmath>

#include "app/copied.hpp"
#include "app/link.hpp"
#include "subjects/tensors/commands.hpp"
#include "subjects/worked/commands.hpp"
#include "unit/app/calculated.hpp"
#include "unit/app/support.hpp"
#include "unit/app/tensors_visit.hpp"
#include "unit/lenses/own_cells.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;

namespace {

memory::Model& memory_in(const Visit& visit) {
    return static_cast<memory::Lens&>(visit.lens("memory")).model();
}
double memory_number(const Visit& visit, const CellRef& cell) {
    INFO(write_cell(cell));
    const auto found = why(visit, cell);
    REQUIRE(found);
    return found->f64;
}
const memory::State& memory_set(const Visit& visit) { return visit.state().of<memory::State>(); }

void open_memory(Screen& screen) {
    screen.visit.perform(OpenLens{"memory"});
    screen.settle();
}

// Presses in the picture of the plane, at fractions of its sides from the lower left corner.
void press_in_plane(Screen& screen, float across, float up) {
    const Rect plane = rect("memory/plane");
    ImGui::GetIO().AddMousePosEvent(plane.left + (plane.right - plane.left) * across,
                                    plane.bottom - (plane.bottom - plane.top) * up);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, true);
    screen.draw(2);
    ImGui::GetIO().AddMouseButtonEvent(0, false);
    screen.draw(2);
    screen.settle();
}

}  // namespace

TEST_CASE("Memory works for every subject with queries and keys, and says where the query ends") {
    Screen screen;
    screen.open_sentence();
    screen.train_some();
    for (const std::string_view subject : {worked_subject, sentence_subject, training_subject}) {
        INFO(subject);
        screen.visit.perform(OpenSubject{subject});
        open_memory(screen);
        for (const char* part :
             {"memory/plane", "memory/start", "memory/basin/0", "chart/memory-energy", "memory/path/0/0",
              "memory/weight/0/0", "memory/state/0/0", "chart/memory-moves"})
            CHECK(screen.shows(part));
        CHECK(spoken(screen.visit).starts_with("At β = "));
        CHECK(spoken(screen.visit).find(" falls in ") != std::string::npos);
        CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).size() == 4);
        screen.visit.perform(Set<memory::State>{{.network = memory::Network::classical}});
        screen.settle();
        for (const char* part : {"memory/stored/0/0", "memory/cue/0/0", "memory/rest/9/9",
                                 "chart/memory-flips", "chart/memory-capacity"})
            CHECK(screen.shows(part));
        CHECK(spoken(screen.visit).starts_with("10 patterns in 100 bits: of 10 wrong bits, "));
        CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).size() == 3);
        screen.visit.perform(Set<memory::State>{{}});
    }
}

TEST_CASE(
    "the path of the example is the iteration, step by step, and its energies and weights match the "
    "formulas") {
    Screen screen;
    open_memory(screen);
    const Record& record = *subject_in(screen.visit).attention()->record(0);
    const ConstMatrix q = record.q().heads().head(0), k = record.k().heads().head(0);
    const Index last = record.queries() - 1, d = record.d_k(), n = record.keys();
    const double own_beta = static_cast<double>(record.scale());
    for (const std::optional<double> beta : {std::optional<double>{}, {100.0}, {0.1}, {3.0}}) {
        screen.visit.perform(Set<memory::State>{{.beta = beta}});
        screen.settle();
        const double b = beta.value_or(own_beta);
        std::vector<double> state;
        for (Index a = 0; a < d; ++a) state.push_back(static_cast<double>(q(last, a)));
        const Index steps = memory_in(screen.visit).path()->steps();
        for (Index t = 0; t <= steps; ++t) {
            double sum = 0, square = 0, largest = 0;
            std::vector<double> weights, next(state.size(), 0);
            for (Index j = 0; j < n; ++j) {
                double score = 0, length = 0;
                for (Index a = 0; a < d; ++a) {
                    score += static_cast<double>(k(j, a)) * state[static_cast<std::size_t>(a)];
                    length += static_cast<double>(k(j, a)) * static_cast<double>(k(j, a));
                }
                weights.push_back(std::exp(b * score));
                sum += weights.back();
                largest = std::max(largest, length);
            }
            for (const double each : state) square += each * each;
            const double energy =
                -std::log(sum) / b + square / 2 + std::log(static_cast<double>(n)) / b + largest / 2;
            // A few units of 1e-16 of a score of β |k| |ξ|, up to 200 here.
            CHECK(memory_number(screen.visit, memory::cells::energy(t)) ==
                  Catch::Approx(energy).epsilon(1e-9).margin(1e-9));
            if (t == steps) break;
            for (Index j = 0; j < n; ++j) {
                const double weight = weights[static_cast<std::size_t>(j)] / sum;
                CHECK(memory_number(screen.visit, memory::cells::weight(t + 1, j)) ==
                      Catch::Approx(weight).margin(1e-10));
                for (Index a = 0; a < d; ++a)
                    next[static_cast<std::size_t>(a)] += weight * static_cast<double>(k(j, a));
            }
            double moved = 0;
            for (Index a = 0; a < d; ++a) {
                const auto i = static_cast<std::size_t>(a);
                moved += (next[i] - state[i]) * (next[i] - state[i]);
                CHECK(memory_number(screen.visit, memory::cells::state(t + 1, a)) ==
                      Catch::Approx(next[i]).margin(1e-10));
            }
            CHECK(memory_number(screen.visit, memory::cells::update_norm(t + 1)) ==
                  Catch::Approx(std::sqrt(moved)).margin(1e-9));
            state = next;
        }
        if (!beta)
            for (Index j = 0; j < n; ++j)
                CHECK(
                    memory_number(screen.visit, memory::cells::weight(1, j)) ==
                    Catch::Approx(static_cast<double>(record.cell(Stage::weight, 0, last, j))).margin(1e-6));
    }
}

TEST_CASE("a press in the plane starts there, and the path ends in the basin painted there") {
    Screen screen;
    screen.open_sentence();
    open_memory(screen);
    screen.visit.perform(Set<memory::State>{{.beta = 20.0}});
    screen.settle();
    const memory::Model& lens = memory_in(screen.visit);
    for (const auto& [across, up] : {std::pair{0.2f, 0.3f}, {0.8f, 0.7f}, {0.5f, 0.1f}}) {
        press_in_plane(screen, across, up);
        REQUIRE(memory_set(screen.visit).start);
        const Basins::Box& box = lens.basins()->box();
        // A pixel of the picture of 420, and a fourth digit.
        CHECK((*memory_set(screen.visit).start)[0] ==
              Catch::Approx(box.low[0] + static_cast<double>(across) * (box.high[0] - box.low[0]))
                  .margin(0.01 * (box.high[0] - box.low[0])));
        REQUIRE(lens.path()->done());
        const auto start = lens.plane()->plane.place_of(lens.path()->points().front().state);
        CHECK(start[0] == Catch::Approx((*memory_set(screen.visit).start)[0]).margin(1e-9));
        const Index side = lens.basins()->side();
        const auto cell = [&](std::size_t axis) {
            return static_cast<Index>((start[axis] - box.low[axis]) / (box.high[axis] - box.low[axis]) *
                                      static_cast<double>(side));
        };
        const std::uint8_t end = lens.basins()->end_at(cell(1), cell(0));
        REQUIRE(end < lens.basins()->ends().size());
        CHECK(distance_between(lens.basins()->ends()[end].state, lens.path()->end()) <=
              2e-3 * lens.path()->patterns().largest);
        CHECK(spoken(screen.visit).starts_with("At β = 20, your start falls"));
    }
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    screen.click("memory/at-query");
    CHECK_FALSE(memory_set(screen.visit).start);
    screen.visit.undo();
    CHECK(memory_set(screen.visit).start);
    // Arrow keys reach it, too.
    ui::ask({.kind = ui::Ask::Kind::step, .key = "memory/start/across", .steps = 1});
    const double before = (*memory_set(screen.visit).start)[0];
    screen.draw(2);
    CHECK((*memory_set(screen.visit).start)[0] > before);
}

TEST_CASE(
    "β, the plane, the network and its bits are in the link and in undo; a β of 0 or 1e9 is refused in one "
    "sentence") {
    Screen screen;
    open_memory(screen);
    screen.click("memory/preset/β = 100, large");
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=memory&memory.beta=100");
    CHECK(spoken(screen.visit).find("to one memory: ") != std::string::npos);
    screen.click("memory/preset/β = 0.1, small");
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=memory&memory.beta=0.1");
    CHECK(spoken(screen.visit).ends_with("to the mean of all 3 keys."));
    screen.click("memory/own");
    CHECK_FALSE(memory_set(screen.visit).beta);
    screen.click("memory/plane-of/query and strongest key");
    CHECK(to_fragment(screen.visit.state()) == "v=1&lens=memory&memory.plane=query");
    screen.settle();
    screen.click("memory/network/classical network");
    screen.settle();
    screen.click("memory/preset/30: too many");
    screen.settle();
    CHECK(to_fragment(screen.visit.state()) ==
          "v=1&lens=memory&memory.network=classical&memory.plane=query&memory.bits=100,30");
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    screen.click("memory/preset/Signs of this head’s keys");
    screen.settle();
    CHECK(parse_fragment(to_fragment(screen.visit.state())).state == screen.visit.state());
    CHECK(spoken(screen.visit).starts_with("3 patterns in 4 bits: "));
    for (int i = 0; i < 7; ++i) screen.visit.undo();
    CHECK(memory_set(screen.visit) == memory::State{});

    for (const double bad : {0.0, 1e9, -1.0, HUGE_VAL, std::nan("")}) {
        CHECK(refusal(default_state(), Set<memory::State>{{.beta = bad}}) ==
              "The value of β must be from 0.1 to 100.");
        screen.visit.perform(Set<memory::State>{{.beta = bad}});
        screen.settle();
        CHECK(screen.shows("memory/plane"));
    }
    CHECK_FALSE(apply(default_state(), Set<memory::State>{{.start = std::array{0.0, std::nan("")}}}));
    CHECK_FALSE(apply(default_state(), Set<memory::State>{{.bits = 7}}));
    CHECK_FALSE(apply(default_state(), Set<memory::State>{{.patterns = 0}}));
    CHECK_FALSE(apply(default_state(), Set<memory::State>{{.flipped = 0.6}}));
    CHECK_FALSE(apply(default_state(), Set<memory::State>{{.stored = 10}}));
    for (const char* bad :
         {"v=1&memory.beta=0", "v=1&memory.beta=1e9", "v=1&memory.beta=nan", "v=1&memory.start=1",
          "v=1&memory.start=1,2,3", "v=1&memory.bits=", "v=1&memory.bits=1,1,0,0,0",
          "v=1&memory.network=other", "v=1&memory.plane=", "v=1&memory.patterns=x"})
        CHECK_FALSE(parse_fragment(bad).note.empty());
}

TEST_CASE("every number of Memory explains itself, and its calculation ends in its f64") {
    Screen screen;
    screen.open_sentence();
    for (const std::string_view subject : {worked_subject, sentence_subject})
        for (const memory::State& memory :
             {memory::State{}, memory::State{.beta = 100},
              memory::State{.beta = 0.1, .start = std::array{0.3, -0.2}},
              memory::State{.network = memory::Network::classical, .patterns = 20, .flipped = 0.3},
              memory::State{.network = memory::Network::classical, .of_keys = true}}) {
            screen.visit.perform(OpenSubject{subject});
            open_memory(screen);
            screen.visit.perform(Set<memory::State>{memory});
            screen.settle();
            std::vector<CellRef> cells;
            if (memory.network == memory::Network::modern) {
                const Index steps = memory_in(screen.visit).path()->steps();
                REQUIRE(steps >= 1);
                for (const Index t : {Index{0}, Index{1}, steps}) {
                    cells.push_back(memory::cells::energy(t));
                    cells.push_back(memory::cells::state(t, 1));
                    if (t == 0) continue;
                    cells.push_back(memory::cells::update_norm(t));
                    cells.push_back(memory::cells::effective_keys(t));
                    cells.push_back(memory::cells::weight(t, 0));
                }
                for (const Index query : {0, 2}) {
                    cells.push_back(memory::cells::distance(0, query));
                    cells.push_back(memory::cells::distance(1, query));
                }
            } else {
                for (const Index i : {0, 1}) cells.push_back(memory::cells::local_field(i));
                cells.push_back(memory::cells::classical_energy(0));
                for (const Index load : {0, 14}) {
                    cells.push_back(memory::cells::capacity(0, load));
                    cells.push_back(memory::cells::capacity(1, load));
                }
            }
            for (const CellRef& cell : cells) {
                INFO(subject << ", β " << memory.beta.value_or(0) << ", " << write_cell(cell));
                const auto found = why(screen.visit, cell);
                REQUIRE(found);
                CHECK_FALSE(found->title.empty());
                CHECK_FALSE(found->formula.empty());
                // Sums in f32 of scores up to β |k|², a few hundred.
                CHECK(found->f32 == Catch::Approx(found->f64).epsilon(1e-4).margin(1e-5));
                REQUIRE_FALSE(found->calculation.empty());
                check_calculated(*found);
                for (const auto& operand : found->operands)
                    CHECK(operand.product == Catch::Approx(operand.left * operand.right).margin(1e-12));
                CHECK_FALSE(copied(*found, Dialect::numpy).empty());
            }
            CHECK_FALSE(why(screen.visit, memory::cells::weight(0, 0)));
            CHECK_FALSE(why(screen.visit, memory::cells::weight(1, 1000)));
            CHECK_FALSE(why(screen.visit, memory::cells::energy(5000)));
            CHECK_FALSE(why(screen.visit, memory::cells::local_field(5000)));
        }
}

TEST_CASE("a weight of a step leads to the components of q and k, and Back returns") {
    Screen screen;
    screen.open_sentence();
    open_memory(screen);
    const auto weight = why(screen.visit, memory::cells::weight(1, 1));
    REQUIRE(weight);
    REQUIRE(weight->operands.front().left_at);
    CHECK(weight->operands.front().left_at->cell.is(Stage::k));
    CHECK(weight->operands.front().right_at->cell.is(Stage::q));
    const auto later = why(screen.visit, memory::cells::weight(2, 1));
    REQUIRE(later);
    CHECK(later->operands.front().right_at->cell == memory::cells::state(1, 0));
    screen.visit.perform(Pin{memory::cells::weight(1, 1)});
    screen.settle();
    screen.click("inspector/step/5");
    REQUIRE(screen.visit.state().pin);
    CHECK(screen.visit.state().pin->is(Stage::weight));
    screen.click("inspector/back");
    CHECK(screen.visit.state().lens == "memory");
    CHECK(screen.visit.state().pin == memory::cells::weight(1, 1));
}

TEST_CASE(
    "rows without keys, numbers that are not finite and finished weights are reported in one sentence") {
    Screen screen;
    screen.visit.perform(SetMask{.kind = WorkedMask::Kind::causal, .offset = -1});
    screen.visit.perform(Select{{0, 0, 0, {}, {}}});
    open_memory(screen);
    CHECK(screen.shows("memory/refused"));
    CHECK(spoken(screen.visit) ==
          "The mask hides every key from “cat”, so nothing is stored and its output is 0. Choose another "
          "query.");
    CHECK(lens_in(screen.visit).tables(subject_in(screen.visit)).empty());
    CHECK_FALSE(why(screen.visit, memory::cells::energy(0)));
    screen.visit.perform(Set<memory::State>{{.network = memory::Network::classical, .of_keys = true}});
    screen.settle();
    CHECK(screen.shows("memory/refused"));
    screen.visit.perform(Set<memory::State>{{}});
    screen.visit.perform(Select{{0, 0, 1, {}, {}}});
    screen.settle();
    CHECK(spoken(screen.visit).ends_with("to the only key it sees."));
    CHECK(screen.shows("memory/plane"));

    screen.visit.perform(SetSource{Source::scores});
    const auto given = lens_in(screen.visit).missing(subject_in(screen.visit));
    REQUIRE(given);
    CHECK(given->sentence.ends_with('.'));

    const auto dropped = [](TensorsVisit& tensors, const Drop& files) {
        tensors.visit.perform(OpenSubject{tensors_subject});
        tensors.visit.perform(OpenLens{"memory"});
        tensors.drop(files);
        REQUIRE(subject_in(tensors.visit).attention());
    };
    TensorsVisit finished, infected, infinite;
    dropped(finished, {{"attention.npy", weights_npy({2, 5, 5})}});
    CHECK(lens_in(finished.visit).missing(subject_in(finished.visit)));

    Tensor q = random_tensor({6, 4}, 1), k = random_tensor({6, 4}, 2);
    q.matrix()(3, 2) = std::nanf("");
    dropped(infected, {{"q.npy", write_npy({6, 4}, q.values())}, {"k.npy", write_npy({6, 4}, k.values())}});
    infected.visit.perform(SetTensorRule{{}});
    infected.work();
    CHECK(spoken(infected.visit).starts_with("At β = 0.5, "));
    infected.visit.perform(Select{{0, 0, 3, {}, {}}});
    CHECK(spoken(infected.visit) == "A number of this query is not finite. Choose another query.");
    CHECK_FALSE(why(infected.visit, memory::cells::energy(0)));
    k.matrix()(1, 0) = HUGE_VALF;
    dropped(infinite, {{"q.npy", normal_npy({6, 4}, 1)}, {"k.npy", write_npy({6, 4}, k.values())}});
    infinite.visit.perform(SetTensorRule{{}});
    infinite.work();
    CHECK(spoken(infinite.visit) ==
          "A key that this query sees is not a finite number. Choose another query.");
}

TEST_CASE("the classical network recovers a pattern, or loses it if too many are stored") {
    Screen screen;
    open_memory(screen);
    screen.visit.perform(Set<memory::State>{{.network = memory::Network::classical}});
    screen.settle();
    CHECK(spoken(screen.visit).ends_with("The pattern is recovered."));
    const Matrix energies = table_of(screen, "Energy, flip by flip").values;
    for (Index flip = 1; flip < energies.rows; ++flip) CHECK(energies.at(flip, 0) < energies.at(flip - 1, 0));
    // At the lowest load, two patterns are stored, so that there are two cues.
    CHECK(std::ranges::any_of(ui::semantics(), [](const ui::Node& node) {
        return node.name.find("2 to 8 cues each (one for a pattern)") != std::string::npos;
    }));
    screen.visit.perform(Set<memory::State>{{.network = memory::Network::classical, .patterns = 30}});
    screen.settle();
    CHECK(spoken(screen.visit).ends_with("The pattern is lost."));
    // A bit at rest agrees with its field.
    const Matrix rest = table_of(screen, "At rest").values;
    for (Index i = 0; i < 100; ++i) {
        const auto field = why(screen.visit, memory::cells::local_field(i));
        REQUIRE(field);
        CHECK(field->f64 * rest.at(i / 10, i % 10) >= 0);
    }
}

TEST_CASE("a row of 16,384 keys is followed in slices of a few milliseconds") {
    constexpr Index n = 16'384, d = 64;
    auto prepared = Record::prepare(random_tensor({1, n, d}, 1), random_tensor({1, n, d}, 2),
                                    random_tensor({1, n, d}, 3), {});
    REQUIRE(prepared);
    auto patterns = patterns_seen(*prepared, 0, n - 1);
    REQUIRE(patterns);
    const auto shared = std::make_shared<const HopfieldPatterns>(*std::move(patterns));
    Retrieval retrieval(shared, 0.125, *query_state(*prepared, 0, n - 1));
    while (retrieval.step()) continue;
    CHECK(retrieval.settled());
    PrincipalPlane principal(shared);
    principal.step();
    Basins basins(shared, 0.125, principal.plane(), {{-3, -3}, {3, 3}});
    for (int i = 0; i < 40; ++i) CHECK(basins.step());
    CHECK(basins.side() == Basins::coarsest);
    CHECK(basins.version() > 1);
}

TEST_CASE("the pictures of Memory have tables of what they show, and a click pins its number") {
    Screen screen({1440, 2600});
    screen.open_sentence(6);
    open_memory(screen);
    const memory::Model& lens = memory_in(screen.visit);
    const Table weights = table_of(screen, "Weights of each step"), states = table_of(screen, "The state ξ"),
                places = table_of(screen, "Places in the plane");
    const auto& points = lens.path()->points();
    CHECK(weights.values.at(2, 0) == points[1].weights[2]);
    CHECK(states.values.at(1, 3) == points[1].state[3]);
    CHECK(places.values.at(0, 0) == lens.plane()->plane.place_of(points[0].state)[0]);
    CHECK(table_of(screen, "Energy, step by step").values.at(0, 0) == points[0].energy);
    CHECK(table_of(screen, "How far this head’s queries move").values.rows == 6);
    const std::pair<const char*, CellRef> clicks[]{{"memory/path/1/2", memory::cells::effective_keys(1)},
                                                   {"memory/weight/0/2", memory::cells::weight(1, 2)},
                                                   {"memory/state/1/3", memory::cells::state(1, 3)}};
    for (const auto& [landmark, cell] : clicks) {
        screen.click(landmark);
        CHECK(screen.visit.state().pin == cell);
    }
    screen.visit.perform(Set<memory::State>{{.network = memory::Network::classical}});
    screen.settle();
    CHECK(table_of(screen, "Stored, pattern 0").values.cols == 10);
    CHECK(table_of(screen, "Share recovered").columns.front() == "classical");
    screen.click("memory/rest/1/2");
    CHECK(screen.visit.state().pin == memory::cells::local_field(12));
    // The others have no numbers of their own.
    screen.click("memory/cue/1/3");
    CHECK(screen.visit.state().pin == memory::cells::local_field(12));
}
