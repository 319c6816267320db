// What report.html is put together from. The definitions are generated at build time by ci/web/build.cmake.
#pragma once

#include <string_view>

namespace retrygate::ci {

struct WebFile {
  std::string_view text;
  std::string_view sha256;  // of the text, 64 hexadecimal digits
};

const WebFile& page_style();
const WebFile& page_script();
const WebFile& plots_script();     // empty without npm at build time
const WebFile& plots_licences();   // of the packages in plots_script
std::string_view plots_missing();  // why plots_script is empty; empty when it is there

}  // namespace retrygate::ci
