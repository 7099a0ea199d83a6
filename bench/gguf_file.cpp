#include "gguf_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>

#include "tensor/dtype.hpp"
#include "tensor/random.hpp"

namespace attn::bench {

namespace {

constexpr Index width = 768, inner = 3072, layers = 12, heads = 12, context = 1024, vocabulary = 50257;

template <class T>
void put(Bytes& to, T value) {
    const auto bytes = std::as_bytes(std::span(&value, 1));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

void put_text(Bytes& to, std::string_view text) {
    put(to, static_cast<std::uint64_t>(text.size()));
    const auto bytes = std::as_bytes(std::span(text));
    to.insert(to.end(), bytes.begin(), bytes.end());
}

// Quantisers. They round to the nearest of evenly spaced values between the extremes of a part, which is
// simple and near enough to what others write.

std::uint8_t nearest(float x, float least, float most) {
    return static_cast<std::uint8_t>(static_cast<int>(std::lround(std::clamp(x, least, most))));
}

float inverse(float x) { return x == 0 ? 0 : 1 / x; }

float largest(std::span<const float> x) {
    float most = 0;
    for (const float value : x) most = std::max(most, std::abs(value));
    return most;
}

// Rounded as it will be read.
float put_half(Bytes& to, float value) {
    const std::uint16_t bits = f32_to_f16(value);
    put(to, bits);
    return f16_to_f32(bits);
}

void put_q8_0(Bytes& to, std::span<const float> x) {
    const float scale = put_half(to, largest(x) / 127);
    for (const float value : x)
        put(to, static_cast<std::int8_t>(std::lround(std::clamp(value * inverse(scale), -127.f, 127.f))));
}

// Q4_K, or Q5_K with a fifth bit: 8 parts with scales and minima of 6 bits.
void put_q4_or_q5_k(Bytes& to, std::span<const float> x, bool fifth) {
    const float levels = fifth ? 31 : 15;
    std::array<float, 8> scale, minimum;
    for (std::size_t part = 0; part < 8; ++part) {
        const auto of = x.subspan(part * 32, 32);
        minimum[part] = std::max(0.f, -*std::ranges::min_element(of));
        scale[part] = std::max(0.f, *std::ranges::max_element(of) + minimum[part]) / levels;
    }
    const float d = put_half(to, largest(scale) / 63), dmin = put_half(to, largest(minimum) / 63);
    std::array<std::uint8_t, 8> s, m;
    std::array<std::uint8_t, 256> q;
    for (std::size_t part = 0; part < 8; ++part) {
        s[part] = nearest(scale[part] * inverse(d), 0, 63);
        m[part] = nearest(minimum[part] * inverse(dmin), 0, 63);
        for (std::size_t i = part * 32; i < part * 32 + 32; ++i)
            q[i] = nearest(
                (x[i] + dmin * static_cast<float>(m[part])) * inverse(d * static_cast<float>(s[part])), 0,
                levels);
    }
    for (std::size_t i = 0; i < 4; ++i) put(to, static_cast<std::uint8_t>(s[i] | (s[i + 4] >> 4) << 6));
    for (std::size_t i = 0; i < 4; ++i) put(to, static_cast<std::uint8_t>(m[i] | (m[i + 4] >> 4) << 6));
    for (std::size_t i = 4; i < 8; ++i) put(to, static_cast<std::uint8_t>((s[i] & 15) | (m[i] & 15) << 4));
    if (fifth)
        for (std::size_t i = 0; i < 32; ++i) {
            int bits = 0;
            for (std::size_t part = 0; part < 8; ++part) bits |= (q[part * 32 + i] >> 4) << part;
            put(to, static_cast<std::uint8_t>(bits));
        }
    for (std::size_t pair = 0; pair < 256; pair += 64)
        for (std::size_t i = 0; i < 32; ++i)
            put(to, static_cast<std::uint8_t>((q[pair + i] & 15) | (q[pair + 32 + i] & 15) << 4));
}

// Q6_K: 16 parts with scales of 8 bits.
void put_q6_k(Bytes& to, std::span<const float> x) {
    std::array<float, 16> scale;
    for (std::size_t part = 0; part < 16; ++part) scale[part] = largest(x.subspan(part * 16, 16)) / 31;
    const float wanted = largest(scale) / 127, d = f16_to_f32(f32_to_f16(wanted));
    std::array<std::uint8_t, 16> s;
    std::array<int, 256> q;
    for (std::size_t part = 0; part < 16; ++part) {
        s[part] = nearest(scale[part] * inverse(d), 0, 127);
        const float step = inverse(d * static_cast<float>(s[part]));
        for (std::size_t i = part * 16; i < part * 16 + 16; ++i)
            q[i] = 32 + static_cast<int>(std::lround(std::clamp(x[i] * step, -32.f, 31.f)));
    }
    for (std::size_t half = 0; half < 256; half += 128)
        for (std::size_t i = 0; i < 64; ++i)
            put(to, static_cast<std::uint8_t>((q[half + i] & 15) | (q[half + 64 + i] & 15) << 4));
    for (std::size_t half = 0; half < 256; half += 128)
        for (std::size_t i = 0; i < 32; ++i) {
            int bits = 0;
            for (std::size_t part = 0; part < 4; ++part) bits |= (q[half + 32 * part + i] >> 4) << (2 * part);
            put(to, static_cast<std::uint8_t>(bits));
        }
    for (const std::uint8_t each : s) put(to, each);
    put_half(to, wanted);
}

void put_values(Bytes& to, DType dtype, std::span<const float> x) {
    const auto step = static_cast<std::size_t>(block_elements(dtype));
    for (std::size_t i = 0; i < x.size(); i += step) {
        const auto block = x.subspan(i, step);
        switch (dtype) {
            case DType::f16: put(to, f32_to_f16(x[i])); break;
            case DType::q8_0: put_q8_0(to, block); break;
            case DType::q4_k: put_q4_or_q5_k(to, block, false); break;
            case DType::q5_k: put_q4_or_q5_k(to, block, true); break;
            case DType::q6_k: put_q6_k(to, block); break;
            default: put(to, x[i]);
        }
    }
}

std::uint32_t gguf_number(DType dtype) {
    switch (dtype) {
        case DType::f16: return 1;
        case DType::q8_0: return 8;
        case DType::q4_k: return 12;
        case DType::q5_k: return 13;
        case DType::q6_k: return 14;
        default: return 0;
    }
}

struct FileTensor {
    std::string name;
    std::vector<Index> shape;  // rows first
    DType dtype;

    Index elements() const { return shape.size() == 2 ? shape[0] * shape[1] : shape[0]; }
};

// What llama.cpp mixes in a Q4_K_M of GPT-2: more bits for what is most sensitive.
std::vector<FileTensor> tensors_of(std::string_view kind) {
    const bool mixed = kind == "Q4_K_M";
    const auto type = [&](DType in_mix) { return mixed ? in_mix : kind == "F16" ? DType::f16 : DType::q8_0; };
    std::vector<FileTensor> all{{"token_embd.weight", {vocabulary, width}, type(DType::q6_k)},
                                {"position_embd.weight", {context, width}, DType::f32}};
    const auto norm = [&](const std::string& name) {
        for (const char* part : {".weight", ".bias"}) all.push_back({name + part, {width}, DType::f32});
    };
    for (Index layer = 0; layer < layers; ++layer) {
        const auto linear = [&](const char* name, Index out, Index in, DType in_mix) {
            const std::string full = "blk." + std::to_string(layer) + "." + name;
            all.push_back({full + ".weight", {out, in}, type(in_mix)});
            all.push_back({full + ".bias", {out}, DType::f32});
        };
        const bool more = layer < layers / 8 || layer >= 7 * layers / 8 || (layer - layers / 8) % 3 == 2;
        norm("blk." + std::to_string(layer) + ".attn_norm");
        linear("attn_qkv", 3 * width, width, DType::q5_k);
        linear("attn_output", width, width, DType::q4_k);
        norm("blk." + std::to_string(layer) + ".ffn_norm");
        linear("ffn_up", inner, width, DType::q4_k);
        linear("ffn_down", width, inner, more ? DType::q6_k : DType::q4_k);
    }
    norm("output_norm");
    return all;
}

// The characters that stand for bytes in byte-level BPE (GPT-2), in UTF-8.
std::vector<std::string> byte_characters() {
    const auto prints = [](int byte) {
        return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    };
    std::vector<std::string> all;
    const auto add = [&](int code) {
        if (code < 128)
            all.push_back({static_cast<char>(code)});
        else
            all.push_back({static_cast<char>(0xc0 | code >> 6), static_cast<char>(0x80 | (code & 63))});
    };
    for (int byte = 0; byte < 256; ++byte)
        if (prints(byte)) add(byte);
    for (int byte = 0, code = 256; byte < 256; ++byte)
        if (!prints(byte)) add(code++);
    return all;
}

// Texts are of the first characters, which begin no other token. These, and the others that are ASCII, make
// up pairs and triples, so that what is generated is UTF-8. The last token is the end of a text.
constexpr std::size_t letters = 60, ascii = 94;

struct Vocabulary {
    std::vector<std::string> tokens = byte_characters(), merges;

    Vocabulary() {
        const std::vector<std::string> characters = tokens;
        const auto extend = [&](const std::string& first) {
            for (std::size_t i = 0; i < ascii && tokens.size() + 1 < vocabulary; ++i) {
                tokens.push_back(first + characters[i]);
                merges.push_back(first + " " + characters[i]);
            }
        };
        for (std::size_t first = letters; first < ascii; ++first) extend(characters[first]);
        for (std::size_t pair = characters.size(); tokens.size() + 1 < vocabulary; ++pair)
            extend(std::string(tokens[pair]));
        tokens.push_back("<|endoftext|>");
    }
};

// Keys of a GGUF file, with the numbers of their types.
class Keys {
  public:
    void number(std::string_view key, Index value) {
        begin(key, 4);
        put(bytes_, static_cast<std::uint32_t>(value));
    }
    void real(std::string_view key, float value) {
        begin(key, 6);
        put(bytes_, value);
    }
    void text(std::string_view key, std::string_view value) {
        begin(key, 8);
        put_text(bytes_, value);
    }
    void texts(std::string_view key, const std::vector<std::string>& values) {
        begin(key, 9);
        put(bytes_, std::uint32_t{8});
        put(bytes_, static_cast<std::uint64_t>(values.size()));
        for (const std::string& value : values) put_text(bytes_, value);
    }
    void numbers(std::string_view key, const std::vector<std::int32_t>& values) {
        begin(key, 9);
        put(bytes_, std::uint32_t{5});
        put(bytes_, static_cast<std::uint64_t>(values.size()));
        for (const std::int32_t value : values) put(bytes_, value);
    }

    std::uint64_t count() const { return count_; }
    const Bytes& bytes() const { return bytes_; }

  private:
    void begin(std::string_view key, std::uint32_t type) {
        ++count_;
        put_text(bytes_, key);
        put(bytes_, type);
    }

    Bytes bytes_;
    std::uint64_t count_ = 0;
};

Keys keys_of(std::string_view kind) {
    Keys keys;
    keys.text("general.architecture", "gpt2");
    keys.text("general.name", "seeded");
    keys.number("general.file_type", kind == "F16" ? 1 : kind == "Q8_0" ? 7 : 15);
    keys.number("general.quantization_version", 2);
    keys.number("gpt2.context_length", context);
    keys.number("gpt2.embedding_length", width);
    keys.number("gpt2.feed_forward_length", inner);
    keys.number("gpt2.block_count", layers);
    keys.number("gpt2.attention.head_count", heads);
    keys.real("gpt2.attention.layer_norm_epsilon", 1e-5f);
    const Vocabulary vocabulary_of;
    std::vector<std::int32_t> types(vocabulary_of.tokens.size(), 1);
    types.back() = 3;  // control
    keys.text("tokenizer.ggml.model", "gpt2");
    keys.text("tokenizer.ggml.pre", "gpt-2");
    keys.texts("tokenizer.ggml.tokens", vocabulary_of.tokens);
    keys.numbers("tokenizer.ggml.token_type", types);
    keys.texts("tokenizer.ggml.merges", vocabulary_of.merges);
    keys.number("tokenizer.ggml.bos_token_id", vocabulary - 1);
    keys.number("tokenizer.ggml.eos_token_id", vocabulary - 1);
    return keys;
}

}  // namespace

Bytes gguf_file(std::string_view kind) {
    constexpr std::size_t alignment = 32;
    const std::vector<FileTensor> tensors = tensors_of(kind);
    const Keys keys = keys_of(kind);
    Bytes file;
    for (const char letter : std::string_view("GGUF")) put(file, letter);
    put(file, std::uint32_t{3});
    put(file, static_cast<std::uint64_t>(tensors.size()));
    put(file, keys.count());
    file.insert(file.end(), keys.bytes().begin(), keys.bytes().end());
    std::size_t offset = 0;
    for (const FileTensor& tensor : tensors) {
        put_text(file, tensor.name);
        put(file, static_cast<std::uint32_t>(tensor.shape.size()));
        for (std::size_t i = tensor.shape.size(); i-- > 0;)
            put(file, static_cast<std::uint64_t>(tensor.shape[i]));
        put(file, gguf_number(tensor.dtype));
        put(file, static_cast<std::uint64_t>(offset));
        offset += (bytes_of(tensor.dtype, tensor.elements()) + alignment - 1) / alignment * alignment;
    }
    const auto pad = [&] { file.resize((file.size() + alignment - 1) / alignment * alignment); };
    pad();
    file.reserve(file.size() + offset);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Random random(i);
        const bool gain = tensors[i].shape.size() == 1 && tensors[i].name.ends_with(".weight");
        std::vector<float> values(static_cast<std::size_t>(tensors[i].elements()));
        for (float& value : values)
            value = static_cast<float>((random.uniform() - 0.5) * 0.07 + (gain ? 1 : 0));
        put_values(file, tensors[i].dtype, values);
        pad();
    }
    return file;
}

std::vector<std::int32_t> gguf_ids(Index count) {
    Random random(1);
    return random_integers(random, static_cast<std::size_t>(count), 0, letters);
}

std::string gguf_text(const std::vector<std::int32_t>& ids) {
    const std::vector<std::string> characters = byte_characters();
    std::string text;
    for (const std::int32_t id : ids) text += characters[static_cast<std::size_t>(id)];
    return text;
}

}  // namespace attn::bench
