// A text file that was compiled into the program (ci/cmake/shelf.cmake, retrygate_embed).
#pragma once

#include <span>
#include <string_view>

namespace retrygate {

struct EmbeddedFile {
  std::string_view id;    // the file's stem
  std::string_view path;  // as messages show it, relative to the repository
  std::string_view text;
};

}  // namespace retrygate
