// Checks which room's files may include what, by the rooms of the house and the arrows between them.
#include <algorithm>
#include <catch_amalgamated.hpp>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "support/files.hpp"

namespace {

namespace fs = std::filesystem;

// Names of rooms, separated by spaces; a room may always include itself. A room within another comes first.
struct Room {
    std::string folder;
    std::string may_include;
};

const std::string whole_core = "tensor io kernels attention maps model text lesson train analysis";

const std::vector<Room> rooms{
    {"core/tensor", ""},
    {"core/io", "tensor"},
    {"core/kernels", "tensor"},
    {"core/attention", "tensor kernels"},
    {"core/maps", "tensor kernels attention"},
    {"core/model", "tensor io kernels attention"},
    {"core/text", "tensor io"},
    {"core/lesson", "tensor text"},
    {"core/train", "tensor io kernels attention model text"},
    {"core/analysis/linalg", "tensor"},
    {"core/analysis/check",
     "tensor io kernels attention maps model analysis/linalg"},  // a case is made of files
    {"core/analysis/theory", "tensor kernels attention maps model analysis/linalg"},
    {"core/analysis", "tensor kernels attention maps model"},
    {"core/cli", whole_core},
    {"web/app", whole_core},
    {"web/runs", whole_core + " app"},
    {"web/render", "tensor maps shaders.hpp"},
    {"web/widgets", "tensor text maps app render"},
    {"web/present", "tensor app widgets"},
    {"web/subjects", whole_core + " app runs present widgets"},
    {"web/parts", whole_core + " app runs subjects present render widgets"},
    {"web/lenses", whole_core + " app runs subjects parts present render widgets"},
    {"web/learn", whole_core + " app runs subjects parts lenses present render widgets"},
    {"web/headless", "tensor io text lesson cli app subjects learn frame render widgets"},
    {"web/frame", whole_core + " app runs subjects parts lenses learn render widgets"},
    {"web/platform", "io app frame render widgets"},
    {"web/main.cpp", "kernels frame platform render"},
    {"web/probe.cpp", "app frame platform widgets"},
};

// An external library: how its header's name begins, and the only folders that may include it.
struct Outsider {
    std::string header;
    std::vector<std::string> folders;
};

const std::vector<Outsider> outsiders{
    {"imgui_impl_", {"web/platform"}},
    {"imgui",
     {"web/render", "web/widgets", "web/parts", "web/present", "web/learn", "web/frame", "web/platform",
      "web/probe.cpp", "web/main.cpp", "web/headless"}},
    {"GLFW", {"web/platform"}},
    {"GL", {"web/render", "web/platform"}},
    {"emscripten", {"web/platform", "web/probe.cpp"}},
    {"zlib", {"core/io"}},
    {"filesystem", {"core/cli"}},
    {"fstream", {"core/cli"}},
};

// The text of each file, by its path.
using Sources = std::map<std::string, std::string>;

const Sources& sources() {
    static const Sources all = [] {
        Sources read;
        const fs::path root = attn::test::source_dir();
        for (const char* house : {"core", "web"})
            for (auto it = fs::recursive_directory_iterator(root / house);
                 it != fs::recursive_directory_iterator(); ++it) {
                if (it->path().filename() == "node_modules") it.disable_recursion_pending();
                const fs::path extension = it->path().extension();
                if (extension != ".cpp" && extension != ".hpp") continue;
                const auto bytes = attn::test::read_file(it->path());
                read[fs::relative(it->path(), root).generic_string()] = {
                    reinterpret_cast<const char*>(bytes.data()), bytes.size()};
            }
        return read;
    }();
    return all;
}

struct Include {
    std::string header;
    bool in_quotes;
};

std::vector<Include> includes_of(const std::string& text) {
    static const std::regex include(R"re([ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">].*)re");
    std::vector<Include> all;
    std::istringstream lines(text);
    std::smatch found;
    for (std::string line; std::getline(lines, line);)
        if (line.find('#') != std::string::npos && std::regex_match(line, found, include))
            all.push_back({found[2], found[1] == "\""});
    return all;
}

bool lies_in(const std::string& file, const std::string& folder) {
    return file == folder || file.starts_with(folder + "/");
}

// Says whether a header is in one of the rooms of a list, or named in it.
bool allows(const std::string& list, const std::string& header) {
    std::istringstream words(list);
    return std::ranges::any_of(std::istream_iterator<std::string>(words),
                               std::istream_iterator<std::string>(),
                               [&](const std::string& room) { return lies_in(header, room); });
}

// The drawing code of subjects and lenses has files of its own; their other files do not know Dear ImGui.
bool is_view(const std::string& file) {
    static const std::regex name(R"re(web/(subjects|lenses)/(.*[/_])?view\.[ch]pp)re");
    return std::regex_match(file, name);
}

const Outsider* outsider_of(const std::string& header) {
    const auto found =
        std::ranges::find_if(outsiders, [&](const Outsider& o) { return header.starts_with(o.header); });
    return found == outsiders.end() ? nullptr : &*found;
}

bool may_know(const std::string& file, const Outsider& outsider, const std::string& header) {
    return std::ranges::any_of(outsider.folders, [&](const std::string& f) { return lies_in(file, f); }) ||
           (header.starts_with("imgui.") && is_view(file));
}

// Returns one complaint for each forbidden arrow, like "core/io/npy.cpp includes attention/mask.hpp".
std::vector<std::string> complaints(const std::string& file, const std::string& text) {
    const auto room = std::ranges::find_if(rooms, [&](const Room& r) { return lies_in(file, r.folder); });
    if (room == rooms.end()) return {file + " lies in no room that has rules"};
    std::vector<std::string> found;
    const std::string own = room->folder.substr(room->folder.find('/') + 1);
    for (const auto& [header, in_quotes] : includes_of(text)) {
        const Outsider* outsider = outsider_of(header);
        const bool allowed = outsider ? may_know(file, *outsider, header)
                                      : !in_quotes || allows(own + " " + room->may_include, header);
        if (!allowed) found.push_back(file + " includes " + header);
    }
    if (text.find("__EMSCRIPTEN__") != std::string::npos && !lies_in(file, "web/platform"))
        found.push_back(file + " asks for __EMSCRIPTEN__");
    // Objects are compiled for threads, but also linked into programs without threads, which lack such
    // storage.
    static const std::regex thread_storage(R"(\bthread_local\s+\w)");
    if (std::regex_search(text, thread_storage)) found.push_back(file + " keeps thread_local storage");
    // Only this file joins letters that join.
    static const std::regex bare(
        R"(ImGui::(Text(Unformatted|Colored|Disabled|Wrapped)?|CalcTextSize)\(|AddText\()");
    if (lies_in(file, "web") && file != "web/widgets/theme.cpp" && std::regex_search(text, bare))
        found.push_back(file + " draws text itself, not by widgets/theme.hpp");
    return found;
}

// Returns one complaint for each outsider that a file must not know but reaches through other files, like
// "web/lenses/scale/scale.cpp reaches imgui.h by parts/part.hpp, widgets/scroll.hpp".
std::vector<std::string> complaints_of_reach(const Sources& files) {
    std::map<std::string, std::vector<Include>> includes;
    for (const auto& [file, text] : files) includes[file] = includes_of(text);
    std::vector<std::string> found;
    for (const auto& [file, its_own] : includes) {
        struct Reached {
            std::string file, way;
        };
        std::vector<Reached> reached{{file, ""}};
        std::set<std::string> known{file};
        std::set<const Outsider*> named;
        for (std::size_t at = 0; at < reached.size(); ++at) {
            const auto [through, way] = reached[at];
            for (const auto& [header, in_quotes] : includes.at(through)) {
                const Outsider* outsider = outsider_of(header);
                if (outsider && at > 0 && !may_know(file, *outsider, header) && named.insert(outsider).second)
                    found.push_back(file + " reaches " + header + " by " + way);
                for (const char* house : {"core/", "web/"})
                    if (in_quotes && includes.contains(house + header) && known.insert(house + header).second)
                        reached.push_back({house + header, way.empty() ? header : way + ", " + header});
            }
        }
    }
    return found;
}

}  // namespace

TEST_CASE("no file includes what its room must not know") {
    std::vector<std::string> found;
    for (const auto& [file, text] : sources())
        std::ranges::move(complaints(file, text), std::back_inserter(found));
    for (const std::string& text : found) UNSCOPED_INFO(text);
    CHECK(found.empty());
    CHECK(sources().size() > 80);
}

TEST_CASE("no file reaches through others what its room must not know") {
    const std::vector<std::string> found = complaints_of_reach(sources());
    for (const std::string& text : found) UNSCOPED_INFO(text);
    CHECK(found.empty());
}

TEST_CASE("a library that a file reaches through others is found, with the way") {
    const Sources files{
        {"core/io/bytes.hpp", "#include <zlib.h>\n"},
        {"core/model/a.cpp", "#include \"io/bytes.hpp\"\n"},
        {"web/widgets/scroll.hpp", "#include <imgui.h>\n#include \"widgets/map.hpp\"\n"},
        {"web/widgets/map.hpp", "#include \"widgets/scroll.hpp\"\n"},
        {"web/parts/part.hpp", "#include <imgui.h>\n"},
        {"web/parts/a.cpp", "#include \"widgets/map.hpp\"\n"},
        {"web/lenses/scale/view.hpp", "#include \"widgets/map.hpp\"\n"},
        {"web/lenses/scale/scale_view.cpp", "#include \"lenses/scale/view.hpp\"\n"},
        {"web/lenses/scale/scale.hpp", "#include <vector>\n"},
        {"web/lenses/scale/scale.cpp", "#include \"lenses/scale/scale.hpp\"\n"},
        {"web/lenses/overview/overview.hpp", "#include \"parts/part.hpp\"\n"},
        {"web/lenses/list.cpp", "#include \"lenses/overview/overview.hpp\"\n"},
        {"web/lenses/tiles/tiles.cpp", "#include \"lenses/scale/view.hpp\"\n"},
    };
    CHECK(complaints_of_reach(files) ==
          std::vector<std::string>{
              "core/model/a.cpp reaches zlib.h by io/bytes.hpp",
              "web/lenses/list.cpp reaches imgui.h by lenses/overview/overview.hpp, parts/part.hpp",
              "web/lenses/overview/overview.hpp reaches imgui.h by parts/part.hpp",
              "web/lenses/tiles/tiles.cpp reaches imgui.h by lenses/scale/view.hpp, widgets/map.hpp, "
              "widgets/scroll.hpp"});
}

TEST_CASE("a forbidden include in the other direction is found") {
    const auto [file, header] = GENERATE(table<std::string, std::string>({
        {"core/tensor/a.hpp", "\"io/npy.hpp\""},
        {"core/io/a.cpp", "\"kernels/table.hpp\""},
        {"core/kernels/a.cpp", "\"attention/mask.hpp\""},
        {"core/attention/a.cpp", "\"model/trace.hpp\""},
        {"core/maps/a.cpp", "\"model/trace.hpp\""},
        {"core/model/a.cpp", "\"analysis/heads/head_scores.hpp\""},
        {"core/analysis/a.cpp", "<imgui.h>"},
        {"core/analysis/linalg/a.cpp", "\"attention/record.hpp\""},
        {"core/analysis/linalg/a.cpp", "\"analysis/theory/gibbs.hpp\""},
        {"core/analysis/theory/a.cpp", "\"analysis/heads/head_scores.hpp\""},
        {"core/model/a.cpp", "<fstream>"},
        {"core/model/a.cpp", "<zlib.h>"},
        {"core/kernels/a.cpp", "<emscripten/threading.h>"},
        {"web/app/a.cpp", "\"widgets/theme.hpp\""},
        {"web/app/a.cpp", "<imgui.h>"},
        {"web/render/a.cpp", "\"widgets/theme.hpp\""},
        {"web/render/a.cpp", "<GLFW/glfw3.h>"},
        {"web/widgets/a.cpp", "\"lenses/lens.hpp\""},
        {"web/app/a.cpp", "\"subjects/subject.hpp\""},
        {"web/app/a.cpp", "\"runs/attention.hpp\""},
        {"web/runs/a.cpp", "\"subjects/subject.hpp\""},
        {"web/subjects/a.cpp", "\"parts/part.hpp\""},
        {"web/parts/a.cpp", "\"lenses/lens.hpp\""},
        {"web/present/a.cpp", "\"parts/part.hpp\""},
        {"web/present/a.cpp", "\"lenses/lens.hpp\""},
        {"web/lenses/scale/a.cpp", "\"frame/frame.hpp\""},
        {"web/lenses/scale/scale.cpp", "<imgui.h>"},
        {"web/lenses/overview/overview.cpp", "<imgui.h>"},
        {"web/learn/a.cpp", "\"frame/frame.hpp\""},
        {"web/frame/a.cpp", "\"headless/headless_page.hpp\""},
        {"web/headless/a.cpp", "\"platform/window.hpp\""},
        {"web/widgets/a.cpp", "<GLES3/gl3.h>"},
        {"web/lenses/a.cpp", "\"platform/window.hpp\""},
        {"web/lenses/a.cpp", "<emscripten.h>"},
        {"web/main.cpp", "<GLES3/gl3.h>"},
        {"web/elsewhere/a.cpp", "<vector>"},
    }));
    INFO(file << " includes " << header);
    CHECK(complaints(file, "#pragma once\n#include <vector>\n  #  include " + header + "\n").size() == 1);
}

TEST_CASE("thread-local storage is found, but not a comment about it") {
    CHECK(complaints("core/model/a.cpp", "static thread_local std::vector<float> row;\n").size() == 1);
    CHECK(complaints("core/model/a.cpp", "// Not thread_local: see above.\n").empty());
}

TEST_CASE("the arrows of the house are allowed") {
    const auto [file, header] = GENERATE(table<std::string, std::string>({
        {"core/io/a.cpp", "\"tensor/result.hpp\""},
        {"core/io/a.cpp", "\"io/npy.hpp\""},
        {"core/io/a.cpp", "<zlib.h>"},
        {"core/model/a.cpp", "\"attention/record.hpp\""},
        {"core/analysis/theory/a.cpp", "\"analysis/linalg/moments.hpp\""},
        {"core/analysis/attribution/a.cpp", "\"analysis/comparison.hpp\""},
        {"core/cli/a.cpp", "<filesystem>"},
        {"web/app/a.cpp", "\"model/trace.hpp\""},
        {"web/lenses/a.cpp", "\"widgets/controls.hpp\""},
        {"web/lenses/scale/scale_view.cpp", "<imgui.h>"},
        {"web/subjects/worked/view.cpp", "<imgui.h>"},
        {"web/lenses/masks/view.hpp", "<imgui.h>"},
        {"web/render/a.cpp", "\"shaders.hpp\""},
        {"web/platform/a.cpp", "<imgui_impl_glfw.h>"},
        {"web/probe.cpp", "<emscripten.h>"},
    }));
    INFO(file << " includes " << header);
    CHECK(complaints(file, "#include " + header + "\n").empty());
}

TEST_CASE("platform macros stay on the platform") {
    CHECK(complaints("web/platform/a.cpp", "#ifdef __EMSCRIPTEN__\n").empty());
    CHECK(complaints("core/io/a.cpp", "#ifdef __EMSCRIPTEN__\n").size() == 1);
}

TEST_CASE("text is drawn by the functions of one file") {
    CHECK(complaints("web/widgets/theme.cpp", "ImGui::TextUnformatted(text);").empty());
    CHECK(complaints("web/parts/a.cpp", "ui::text_item(text); ImGui::TextLineHeight();").empty());
    for (const char* bare : {"ImGui::TextUnformatted(text);", "ImGui::Text(format, x);",
                             "list->AddText(at, ink, text);", "ImGui::CalcTextSize(text)"})
        CHECK(complaints("web/parts/a.cpp", bare).size() == 1);
}

namespace {

// A subject or a lens: a folder, whose name is its key.
struct Owner {
    std::string room;  // "lenses"
    std::string name;  // "scale"
    std::string folder() const { return "web/" + room + "/" + name; }
};

std::vector<Owner> owners() {
    std::vector<Owner> all;
    for (const char* room : {"subjects", "lenses"})
        for (const auto& entry : fs::directory_iterator(attn::test::source_dir() / "web" / room))
            if (entry.is_directory()) all.push_back({room, entry.path().filename().string()});
    return all;
}

std::string without_comments(const std::string& text) {
    static const std::regex comment(R"re(//[^\n]*)re");
    return std::regex_replace(text, comment, "");
}

// Returns how a file names an owner: by a header of its folder, by the constant with its key, or by the key
// where a subject or lens is looked up. Nothing if the file does not name it, or may: the owner's own folder
// and the list of its kind may, and the list of subjects says through which lens each is seen first.
std::optional<std::string> naming(const std::string& file, const std::string& text, const Owner& owner) {
    if (lies_in(file, owner.folder()) || file == "web/" + owner.room + "/list.cpp") return std::nullopt;
    // A regular expression takes long, and most texts contain nothing that it could find.
    const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
    const std::string quoted = "\"" + owner.name + "\"", header = "\"" + owner.room + "/" + owner.name + "/";
    if (!has(quoted) && !has(header) && !has(owner.name + "_subject")) return std::nullopt;
    const std::regex sign("\"" + owner.room + "/" + owner.name + "/|\\b" + owner.name +
                          "_subject\\b|([!=]=\\s*|Open(Subject|Lens)\\{|(subject|lens|find_\\w+)\\()\"" +
                          owner.name + "\"|\"" + owner.name + "\"\\s*[!=]=");
    std::smatch found;
    const std::string code = without_comments(text);
    if (!std::regex_search(code, found, sign)) return std::nullopt;
    return file + " names " + owner.folder() + ": " + found.str();
}

}  // namespace

TEST_CASE("a subject or a lens is named in its own folder and in one list, nowhere else") {
    const std::vector<Owner> all = owners();
    CHECK(all.size() >= 8);
    std::vector<std::string> found;
    for (const auto& [file, text] : sources())
        for (const Owner& owner : all)
            if (auto named = lies_in(file, "web") ? naming(file, text, owner) : std::nullopt)
                found.push_back(*std::move(named));
    for (const std::string& text : found) UNSCOPED_INFO(text);
    CHECK(found.empty());
}

TEST_CASE("naming a lens or a subject elsewhere is found") {
    const Owner scale{"lenses", "scale"}, worked{"subjects", "worked"};
    CHECK(naming("web/app/a.cpp", "#include \"lenses/scale/scale.hpp\"\n", scale));
    CHECK(naming("web/frame/a.cpp", "if (state.lens == \"scale\") return;\n", scale));
    CHECK(naming("web/lenses/ladder/a.cpp", "open(worked_subject);\n", worked));
    CHECK(naming("web/subjects/list.cpp", "#include \"lenses/scale/scale.hpp\"\n", scale));
    CHECK_FALSE(naming("web/subjects/list.cpp", "{\"worked\", \"scale\"}", scale));
    CHECK_FALSE(naming("web/lenses/list.cpp", "#include \"lenses/scale/scale.hpp\"\n", scale));
    CHECK_FALSE(naming("web/lenses/scale/scale.cpp", "\"scale\"", scale));
    CHECK_FALSE(naming("web/app/a.cpp", "// \"scale\" in a comment\n", scale));
}
