#include "io/tensor_names.hpp"

#include <catch_amalgamated.hpp>
#include <optional>
#include <string>
#include <utility>

using namespace attn;

TEST_CASE("names say what a tensor is", "[tensor_names]") {
    using Names = std::vector<std::string>;
    for (const auto& [role, names] : {
             std::pair(Role::query,
                       Names{"q", "Q", "query", "queries", "layer0.q", "q_proj", "self_attn.q", "attn_query",
                             "h.3.attn.q", "query_states", "queryLayer", "q0", "Q_1", "my-q", "q.npy"}),
             std::pair(Role::key,
                       Names{"k", "key", "keys", "k_proj", "attention_keys", "layers.0.key", "keyStates"}),
             std::pair(Role::value, Names{"v", "V", "value", "values", "v_proj_out", "attn_v"}),
             std::pair(Role::mask, Names{"mask", "attn_mask", "attention_mask", "key_padding_mask",
                                         "causalMask", "masks", "query_mask"}),
             std::pair(Role::weights,
                       Names{"attention", "attentions", "attn", "weights", "attention_weights", "attn_scores",
                             "decoder_attentions", "att", "attn_probs", "attn_weights_v2", "query_key_scores",
                             "attention_weight", "AttnWeights"}),
         })
        for (const std::string& name : names) {
            INFO(name);
            CHECK(read_name(name).role == role);
            CHECK(!read_name(name).parameter);
        }
    for (const std::string name :
         {"", "x", "arr_0", "hidden_states", "input_ids", "qk", "query_key", "quick", "0", "é"}) {
        INFO(name);
        CHECK(read_name(name).role == std::nullopt);
    }
    for (const std::string name :
         {"model.layers.0.self_attn.q_proj.weight", "h.0.attn.c_attn.weight", "q_proj.bias"}) {
        INFO(name);
        CHECK(read_name(name).parameter);
    }
}

TEST_CASE("tensors that belong together have the same group", "[tensor_names]") {
    CHECK(read_name("q").group == "");
    CHECK(read_name("layer0.q").group == "layer 0");
    CHECK(read_name("layer0.attn.k").group == "layer 0");
    CHECK(read_name("layer0.attn_mask").group == "layer 0");
    CHECK(read_name("layer0.q_proj").group == "layer 0 proj");
    CHECK(read_name("layer0.k_proj").group == "layer 0 proj");
    CHECK(read_name("layer1.q").group == "layer 1");
    CHECK(read_name("key_padding_mask").group == "padding");
}

TEST_CASE("the last number of a name", "[tensor_names]") {
    const NumberedName name = last_number("run2.attn_layer_11.npy");
    CHECK(name.number == 11);
    CHECK(name.pattern == "run2.attn_layer_#.npy");
    CHECK(name.word == "layer");
    CHECK(last_number("attentions.arr_0").word == "arr");
    CHECK(last_number("7").number == 7);
    CHECK(last_number("7").word.empty());
    CHECK(last_number("attention").number == -1);
    CHECK(last_number("a99999999999999999999").number == -1);
}
