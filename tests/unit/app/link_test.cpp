#include "app/link.hpp"

#include <catch_amalgamated.hpp>

#include "app/catalogue.hpp"
#include "app/link_text.hpp"
#include "lenses/compare/compare.hpp"
#include "lenses/curves/curves.hpp"
#include "subjects/training/training.hpp"
#include "support/this_build.hpp"
#include "unit/app/random_commands.hpp"

using namespace attn;
using namespace attn::app;
using namespace attn::test;
using enum Stage;

namespace {

std::string after_first(const std::string& fragment) { return parse_fragment(fragment).note; }

// Returns the part of a State that a link keeps: everything except a text too long for a link and whatever
// belongs to it.
State kept(State s) {
    constexpr std::size_t most = 32'000;
    const auto drop_long = [](std::string& text) {
        if (text.size() > most) text.clear();
    };
    const bool usual = s.lens == usual_lens(s);
    auto& sentence = s.edit<SentenceState>();
    drop_long(sentence.text);
    drop_long(sentence.written);
    drop_long(sentence.corpus.own);
    if (sentence.compared &&
        (sentence.compared->text.size() > most || sentence.compared->written.size() > most)) {
        sentence.compared.reset();
        if (s.pin && s.pin->second()) s.pin.reset();
        if (usual) s.lens = usual_lens(s);
    }
    if (sentence.trained) drop_long(sentence.trained->plan.text);
    auto& training = s.edit<TrainingState>();
    drop_long(training.plan.text);
    if (training.compared) drop_long(training.compared->text);
    auto& tensors = s.edit<TensorsState>();
    if (write_names(tensors.files).size() > most) tensors.files.clear();
    auto& masks = s.edit<masks::State>();
    if (masks.mask.text().size() > most) masks.mask = masks::State{}.mask;
    // A link keeps how two runs are compared only if there are two.
    if (!lens_of(s).compares && !sentence_of(s).compared) s.edit<compare::State>() = {};
    return s;
}

void check_round_trip(const State& s) {
    const std::string fragment = to_fragment(s);
    INFO(fragment);
    const ParsedFragment parsed = parse_fragment(fragment);
    REQUIRE(parsed.note == "");
    REQUIRE(parsed.state == kept(s));
}

}  // namespace

TEST_CASE("a link contains only what differs from the default") {
    State s = default_state();
    CHECK(to_fragment(s) == "");
    CHECK(to_fragment(after(s, SetCell{{x, 0, 1}, 0.7})) ==
          "v=1&X=3x4:1,0.7,0.2,0.8,0.3,0.9,0.1,0.4,0.6,0.2,0.7,0.3");
    CHECK(to_fragment(opened(PresetId::three_tokens)) == "v=1&ex=three-tokens");
    CHECK(to_fragment(opened(PresetId::seeded_normal)) == "v=1&ex=seeded-normal");
    CHECK(to_fragment(after(s, Generate{7})) == "v=1&source=randn,7,3,3,4,4");
    CHECK(to_fragment(after(opened(PresetId::causal_row), SetMask{WorkedMask::Kind::none, 0, 0, 0})) ==
          "v=1&ex=causal-row&mask=none");
    s = after(s, SetScaling{false});
    s = after(s, SetTemperature{0.5});
    s = after(s, SetSoftcap{30});
    s = after(s, SetMask{WorkedMask::Kind::window, 0, 2, 1});
    s = after(s, SetLabel{false, 0, "Käse, fein"});
    s = after(s, Select{{0, 0, 1, 2}});
    s = after(s, Pin{RunCell{weight, 0, 1}});
    CHECK(to_fragment(s) ==
          "v=1&queries=K%C3%A4se%5C,%20fein,sat,mat&scale=none&T=0.5&cap=30&mask=window,2,1"
          "&query=1&key=2&pin=weight.0.1");
    CHECK(to_fragment(after(default_state(), PaintMask{2, 0, false})) == "v=1&mask=painted,fd8");

    State sentence = after(default_state(), OpenSubject{sentence_subject});
    sentence = after(sentence, SetModel{"tiny"});
    sentence = after(sentence, SetText{"The cat & \"I\"\n"});
    sentence = after(sentence, SetMap{{.stage = Stage::scaled}});
    sentence = after(sentence, SetHeads{{HeadScore::previous_token, HeadScore::induction}});
    sentence = after(sentence, SetFlow{{0.5f, FlowForm::columns, {{1, 0}, {2, 13}}}});
    sentence = after(sentence, SetSampling{{0, 0, 0.9f, 12345678901234567890u}});
    sentence = after(sentence, Select{{3, 5, 700, {}}});
    CHECK(to_fragment(sentence) ==
          "v=1&subject=sentence&text=The%20cat%20%26%20%22I%22%0A&model=tiny"
          "&sampling=0,0,0.9,12345678901234567890&map=scaled&heads=previous,induction"
          "&flow=0.5,columns,1.0,2.13&layer=3&head=5&query=700");
    check_round_trip(s);
    check_round_trip(sentence);

    State tensors = after(default_state(), OpenTensors{{"att, n.npy", "tokens.json"}});
    tensors = after(tensors, SetMap{{.stage = Stage::raw, .pooling = Pooling::mean}, tensors_subject});
    tensors = after(tensors, SetTensorRule{{TensorRule::Causal::with_past, false}});
    tensors = after(tensors, Select{{3, 5, 700, {}}});
    CHECK(to_fragment(tensors) ==
          "v=1&subject=tensors&files=att%5C,%20n.npy,tokens.json&rule=past,unscaled&shown=raw,mean"
          "&layer=3&head=5&query=700");
    check_round_trip(tensors);
    const State long_name = after(default_state(), OpenTensors{{std::string(200, 'x')}});
    CHECK(tensors_of(parse_fragment(to_fragment(long_name)).state).files ==
          std::vector<std::string>{std::string(200, 'x')});
    const State look = after(sentence, SetMap{{.stage = Stage::contribution,
                                               .pooling = Pooling::mean,
                                               .scaling = Scaling::rank,
                                               .sink = Sink::renormalised,
                                               .least = 0.25f}});
    State learned = after(default_state(), OpenSubject{training_subject});
    learned = after(learned, ShowTrainingStep{12});
    CHECK(to_fragment(after(learned, Set<curves::State>{TrainingMaps::weights})) ==
          "v=1&subject=training&step=12");
    learned = after(learned, Set<curves::State>{TrainingMaps::gradient});
    CHECK(to_fragment(learned) == "v=1&subject=training&step=12&maps=gradient");
    check_round_trip(learned);
    CHECK_THAT(parse_fragment("v=1&maps=weights").note, Catch::Matchers::ContainsSubstring("'maps'"));
    CHECK(to_fragment(look).find("&map=contribution,mean,rank,renormalised,0.25&") != std::string::npos);
    check_round_trip(look);
    const State places =
        after(after(sentence, AddBookmark{{4, 7, {0, 13}, {3, 10}}}), AddBookmark{{0, 1, {5, 6}, {0, 300}}});
    CHECK(to_fragment(places).find("&places=4.7.0-12.3-9,0.1.5-5.0-299&") != std::string::npos);
    check_round_trip(places);
    const State marks = after(after(default_state(), OpenTensors{{"q.npy"}}),
                              AddBookmark{{1, 2, {3, 9}, {0, 1}}, tensors_subject});
    CHECK(to_fragment(marks) == "v=1&subject=tensors&files=q.npy&marks=1.2.3-8.0-0");
    check_round_trip(marks);
    CHECK_THAT(parse_fragment("v=1&marks=1.2.3-1.0-0").note, Catch::Matchers::ContainsSubstring("'marks'"));
}

TEST_CASE("every preset and every source can be restored from its link") {
    for (const PresetInfo& p : presets()) {
        const State s = opened(p.id);
        check_round_trip(s);
        for (const Source source : {Source::projections, Source::qkv, Source::scores})
            if (const auto converted = app::apply(s, SetSource{source})) check_round_trip(*converted);
        check_round_trip(after(s, Generate{4294967295u}));
        check_round_trip(after(after(s, Generate{3}), Resize{Axis::queries, 64}));
    }
}

TEST_CASE("a State can be restored from its link, whatever commands led to it") {
    for (std::uint64_t seed = 1000; seed < 1000 + static_cast<std::uint64_t>(300 / thinned); ++seed) {
        RandomCommands commands(seed);
        State s = default_state();
        for (int step = 0; step < 60; ++step)
            if (auto next = app::apply(s, commands.next(s))) {
                s = *std::move(next);
                INFO("seed " << seed << ", step " << step);
                check_round_trip(s);
            }
    }
}

TEST_CASE(
    "a text of up to 2,000 characters is in its link as typed, a longer one packed, one above 32,000 left "
    "out") {
    const auto cats = [](int count) {
        std::string text;
        for (int i = 0; i < count; ++i) text += "🐈";
        return text;
    };
    State s = after(default_state(), SetText{cats(2000)});
    CHECK(to_fragment(s).starts_with("v=1&text=%F0"));
    CHECK(parse_fragment(to_fragment(s)).state == s);
    s = after(s, SetText{cats(32'000)});
    CHECK(to_fragment(s).starts_with("v=1&text~="));
    CHECK(to_fragment(s).size() < 1000);
    CHECK(parse_fragment(to_fragment(s)).state == s);
    CHECK_FALSE(leaves_out(s));
    s = after(s, SetText{cats(32'000) + "x"});
    CHECK(to_fragment(s) == "");
    CHECK(leaves_out(s));
    CHECK(parse_fragment("text=" + std::string(32'001, 'x')).state == default_state());
    // Every text that a person can type or paste, and every other long value.
    Random random(8);
    std::string noise;
    for (int i = 0; i < 20'000; ++i) noise += static_cast<char>(' ' + random.bits() % 95);
    for (const Command& command :
         {Command(SetText{noise}), Command(SetWritten{noise}), Command(SetCorpus{{noise, 0}}),
          Command(SetContrast{{noise, noise}}), Command(Compare{Comparison{noise, noise}}),
          Command(OpenTensors{std::vector(90, std::string(200, 'x'))})}) {
        const State made = after(default_state(), command);
        CHECK(to_fragment(made).find("~=") != std::string::npos);
        CHECK(to_fragment(made).size() < 45'000);
        check_round_trip(made);
        CHECK_FALSE(leaves_out(made));
    }
    TrainingPlan plan = training_preset("own-text")->plan;
    plan.text = noise;
    check_round_trip(after(default_state(), SetTrainingPlan{plan}));
}

TEST_CASE("a truncated or damaged packed value is left out, with a sentence that says so") {
    const State s = after(default_state(), SetText{std::string(3000, 'x')});
    const std::string fragment = to_fragment(s);
    for (const std::string& bad :
         {fragment.substr(0, fragment.size() - 4), fragment + "A", fragment + "!", std::string("text~=")}) {
        CHECK(parse_fragment(bad).state == default_state());
        CHECK_THAT(parse_fragment(bad).note, Catch::Matchers::ContainsSubstring("is cut off or damaged"));
    }
    CHECK(parse_fragment(fragment + "&text=a").note == "The link gives 'text' twice; the first is used.");
}

TEST_CASE("a link may be written by hand or by other programs, and in another order") {
    const State expected = after(opened(PresetId::three_tokens), SetCell{{v, 0, 0}, 10});
    for (const char* fragment :
         {"#v=1&ex=three-tokens&V=3x3:10,2,3,4,5,6,7,8,9", "V=3x3:1e1,2,3,4,5,6,7,8,9.0&ex=three-tokens&v=1",
          "%56=3x3%3A10%2C2%2C3%2C4%2C5%2C6%2C7%2C8%2C9&&ex=three%2Dtokens&"}) {
        const ParsedFragment parsed = parse_fragment(fragment);
        CHECK(parsed.note == "");
        CHECK(parsed.state == expected);
    }
    CHECK(parse_fragment("").state == default_state());
    CHECK(parse_fragment("#").note == "");
    // The labels name tokens that a larger matrix adds.
    CHECK(parse_fragment("X=4x1:1,2,3,4&W_Q=1x1:1&W_K=1x1:1&W_V=1x1:1&queries=a,b,c,d").note == "");
    CHECK(worked_of(parse_fragment("ex=causal-row&scores=1x4:0.5,-inf,inf,0.9").state).scores.at(0, 1) ==
          -std::numeric_limits<double>::infinity());
}

TEST_CASE("unreadable parts of a link are left out, with a sentence that names them") {
    CHECK(after_first("T=banana") ==
          "The link's value 'banana' for 'T' is not a number from 0.01 to 100; the default is used.");
    CHECK(after_first("T=1000") ==
          "The link's value '1000' for 'T' is not a number from 0.01 to 100; the default is used.");
    CHECK(after_first("T=banana&cap=-1&mask=holes") ==
          "The link's value 'banana' for 'T' is not a number from 0.01 to 100; the default is used, and 2 "
          "more of its values were left out.");
    CHECK(after_first("tea=1") == "The link's key 'tea' is not known here.");
    CHECK(after_first("banana") == "The link's key 'banana' is not known here.");
    CHECK(after_first("=") == "The link's key '' is not known here.");
    CHECK(after_first("%zz=1") == "The link's key '%zz' is not known here.");
    CHECK(after_first("T=%zz") ==
          "The link's value '%zz' for 'T' is not percent-encoded text; the default is used.");
    CHECK(
        after_first("text=%ff") ==
        "The link's value '\\xff' for 'text' is not UTF-8 text of at most 32,000 characters; the default is "
        "used.");
    CHECK(after_first("T=2&T=3") == "The link gives 'T' twice; the first is used.");
    CHECK(after_first("v=2") ==
          "The link is of version '2' and this page reads version 1, so the first example is shown.");
    CHECK(after_first("ex=three-tokens&Q=2x3:1,2,3,4,5,6") ==
          "The link's matrices are left out: Q (2×3) and K (3×2) do not fit together.");
    CHECK(after_first("Q=1x1:1") ==
          "The link's value '1x1:1' for 'Q' is not an input of this example; the default is used.");
    CHECK(after_first("source=qkv&Q=1x1:1") == "The link's matrices are left out: K is missing.");
    CHECK(after_first("X=3x4:1,1,1,1,1,1,1,1,1,1,1,inf") ==
          "The link's matrices are left out: X cannot hold inf.");
    CHECK(after_first("T=" + std::string(10'000, '9')).size() < 200);
    CHECK(after_first(std::string(2'000'000, 'a')) ==
          "The link is longer than a million characters, so the first example is shown.");
}

namespace {

constexpr const char* hostile_fragments[] = {
    "lens=everything",
    "ex=A",
    "ex=",
    "source=",
    "source=randn",
    "source=randn,1,1,1,1",
    "source=randn,1,0,1,1,1",
    "source=randn,1,65,1,1,1",
    "source=randn,4294967296,1,1,1,1",
    "source=randn,-1,1,1,1,1",
    "source=randn,1,1,1,1,1,1",
    "X=",
    "X=3x4",
    "X=3x4:",
    "X=3x4:1",
    "X=0x0:",
    "X=-3x-4:1,2,3,4,5,6,7,8,9,10,11,12",
    "X=1000000000x1000000000:1",
    "X=9223372036854775807x9223372036854775807:1",
    "X=65x1:1",
    "X=3x4:1,1,1,1,1,1,1,1,1,1,1,nan",
    "X=3x4:1,1,1,1,1,1,1,1,1,1,1,1e999",
    "X=3x4:1,1,1,1,1,1,1,1,1,1,1,1,1",
    "X=3x4:1,1,1,1,1,1,1,1,1,1,1,1e39",
    "X=4:3x1",
    "W_Q=64x64:1",
    "weight=3x3:1,0,0,0,1,0,0,0,1",
    "queries=a",
    "queries=a,b,c,d",
    "queries=%ff,b,c",
    "keys=a,b,c",
    "scale=2",
    "scale=",
    "T=0",
    "T=-1",
    "T=nan",
    "T=inf",
    "T=0x1",
    "T=",
    "cap=1001",
    "cap=nan",
    "mask=",
    "mask=causal",
    "mask=causal,",
    "mask=causal,65",
    "mask=causal,1,1",
    "mask=window,1",
    "mask=window,-1,1",
    "mask=window,9223372036854775807,1",
    "mask=painted,",
    "mask=painted,ff",
    "mask=painted,ggg",
    "mask=painted,ffff",
    "layer=-1",
    "head=1000000",
    "query=3",
    "key=99999999999999999999",
    "key=",
    "pin=weight",
    "pin=weight.0",
    "pin=weight.0.3",
    "pin=weight.-1.0",
    "pin=banana.0.0",
    "pin=weight.0.0.0",
    "map=rare",
    "files=",
    "files=a,,b",
    "files=%ff",
    "shown=rare",
    "rule=",
    "rule=none",
    "rule=unscaled,past",
    "places=1.2",
    "places=1.2.3-1.0-0",
    "places=1.2.0-1.0-99999999999999999999",
    "places=1.2.0-1.-1-2",
    "map=weight,rare",
    "map=weight,1.5",
    "map=weight,nan",
    "heads=",
    "heads=layer",
    "heads=induction,",
    "heads=,induction",
    "heads=first,previous,induction",
    "flow=2",
    "flow=nan",
    "flow=0.5,rows",
    "flow=0.5,arcs,1",
    "flow=0.5,1.2.3",
    "flow=0.5,1.-2",
    "flow=0.5,1.2,1.2",
    "flow=0.5,0.1,0.2,0.3,0.4,0.5,0.6,0.7,0.8",
    "sampling=1",
    "sampling=1,2,3,4,5",
    "sampling=-1,0,1,0",
    "sampling=1,0,1,-1",
    "v=",
    "v=1&v=1",
    "&%",
    "T%",
    "\xff\xfe=\x01",
    "X=3x4:1,,1,1,1,1,1,1,1,1,1,1",
};

}  // namespace

TEST_CASE("hostile links change nothing but the note") {
    for (const char* fragment : hostile_fragments) {
        INFO(fragment);
        const ParsedFragment parsed = parse_fragment(fragment);
        CHECK(parsed.state == default_state());
        CHECK(parsed.note.ends_with('.'));
    }
    CHECK(parse_fragment("model=" + std::string(201, 'm')).state == default_state());
}

TEST_CASE("fragments with any one byte changed are read into a valid State") {
    State s = after(opened(PresetId::hello_query), PaintMask{0, 1, false});
    s = after(s, SetLabel{true, 1, "W,orld"});
    s = after(s, SetCell{{k, 0, 0}, 0.25});
    s = after(s, Select{{0, 0, 0, 1}});
    s = after(s, Pin{RunCell{output, 0, 2}});
    s = after(s, SetTemperature{2});
    const std::string fragment = to_fragment(s);
    Random random(5);
    for (int i = 0; i < 20'000 / thinned; ++i) {
        std::string changed = fragment;
        for (int n = 0; n < 1 + i % 3; ++n)
            changed[random.bits() % changed.size()] = static_cast<char>(random.bits());
        const ParsedFragment parsed = parse_fragment(changed);
        check_valid(parsed.state);
        REQUIRE(parse_fragment(to_fragment(parsed.state)).state == parsed.state);
    }
}
