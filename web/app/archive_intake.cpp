#include "app/archive_intake.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "app/visit.hpp"

namespace attn::app {

namespace {

using Room = std::unique_ptr<std::byte[], FreeBytes>;

// Exceptions are off, so a vector that cannot be allocated would end the program; hence malloc.
Result<Room> room_for(std::uint64_t size, const std::string& file) {
    const std::string instead = "; unpack it and drop its folder onto the page instead";
    if (size > ArchiveIntake::bytes_limit)
        return Error{file + " holds more than " + std::to_string(ArchiveIntake::bytes_limit / 1'000'000) +
                     " MB" + instead};
    Room room(static_cast<std::byte*>(std::malloc(static_cast<std::size_t>(size) + 1)));
    if (!room) return Error{"There is no memory left for " + file + instead};
    return room;
}

// Some systems add files of their own, such as .DS_Store.
bool is_hidden(const std::string& path) { return path[path.rfind('/') + 1] == '.'; }

}  // namespace

Result<std::byte*> ArchiveIntake::buffer(const std::string& file, std::uint64_t size) {
    auto room = room_for(size, file);
    if (!room) return room.error();
    name_ = file;
    room_ = *std::move(room);
    size_ = static_cast<std::size_t>(size);
    return room_.get();
}

Result<std::map<std::string, std::vector<std::byte>>> ArchiveIntake::unpacked() const {
    const auto entries = parse_zip({room_.get(), size_});
    if (!entries) return Error{name_ + ": " + entries.error().message};
    std::uint64_t total = 0;
    for (const ZipEntry& entry : *entries) total = std::min(total, bytes_limit) + entry.size;
    if (const auto room = room_for(total, name_); !room) return room.error();
    std::map<std::string, std::vector<std::byte>> files;
    for (const ZipEntry& entry : *entries) {
        if (is_hidden(entry.name)) continue;
        const auto contents = Unpacking(entry).finish();
        if (!contents) return Error{name_ + ": " + contents.error().message};
        files[entry.name].assign(contents->bytes.begin(), contents->bytes.end());
    }
    return files;
}

bool ArchiveIntake::arrived() {
    const auto files = unpacked();
    const std::string folder = name_.substr(0, name_.rfind('.'));
    discard();
    if (!files) {
        visit_.report_error(files.error());
        return false;
    }
    visit_.page().open_files(folder, *files, false);
    return true;
}

void ArchiveIntake::discard() {
    room_.reset();
    size_ = 0;
}

}  // namespace attn::app
