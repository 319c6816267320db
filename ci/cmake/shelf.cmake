# retrygate_shelf(MODULE FOLDER ENTRY NAMESPACE HEADER [FUNCTION])
# A shelf is a folder whose every .cpp adds entries to one catalogue. This globs the folder and
# generates the source file that defines `const Shelf<ENTRY>& FUNCTION()` (else FOLDER()) by calling
# `void add_<file stem>(Shelf<ENTRY>&)` of each file, in alphabetical order. A file that forgets its
# function is a link error that names it. No static initialisers, so a linker drops nothing.
function(retrygate_shelf module folder entry namespace header)
  set(function "${folder}")
  if(ARGC GREATER 5)
    set(function "${ARGV5}")
  endif()
  file(GLOB files CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cpp")
  list(FILTER files EXCLUDE REGEX "_test\\.cpp$")
  list(SORT files)
  set(declarations "")
  set(calls "")
  foreach(file IN LISTS files)
    get_filename_component(stem "${file}" NAME_WE)
    string(APPEND declarations "void add_${stem}(Shelf<${entry}>&);\n")
    string(APPEND calls "    add_${stem}(all);\n")
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${folder}_shelf.cpp")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
"// Generated from the files of @folder@/ by ci/cmake/shelf.cmake.
#include \"@header@\"

namespace @namespace@ {
@declarations@
const Shelf<@entry@>& @function@() {
  static const Shelf<@entry@> shelf = [] {
    Shelf<@entry@> all;
@calls@    all.sort();
    return all;
  }();
  return shelf;
}
}  // namespace @namespace@
")
  target_sources(retrygate_${module} PRIVATE "${output}")
  target_include_directories(retrygate_${module} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()

# retrygate_embed(MODULE FOLDER NAMESPACE FUNCTION [PATTERN ..])
# Compiles the folder's .toml files (or those of the patterns) into the library, so that the installed tool needs
# nothing from the source tree: defines `std::span<const EmbeddedFile> FUNCTION()` (policies/base/embedded.hpp).
function(retrygate_embed module folder namespace function)
  set(patterns ${ARGN})
  if(NOT patterns)
    set(patterns "*.toml")
  endif()
  list(TRANSFORM patterns PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/")
  file(GLOB files CONFIGURE_DEPENDS ${patterns})
  list(SORT files)
  set(rows "")
  foreach(file IN LISTS files)
    get_filename_component(stem "${file}" NAME_WE)
    file(READ "${file}" text)
    file(RELATIVE_PATH shown "${PROJECT_SOURCE_DIR}" "${file}")
    string(APPEND rows "      {\"${stem}\", \"${shown}\", R\"_toml_(${text})_toml_\"},\n")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
  endforeach()
  set(output "${CMAKE_CURRENT_BINARY_DIR}/${folder}_embedded.cpp")
  file(CONFIGURE OUTPUT "${output}" @ONLY CONTENT
"// Generated from the files of @folder@/ by ci/cmake/shelf.cmake.
#include \"policies/base/embedded.hpp\"

namespace @namespace@ {
std::span<const EmbeddedFile> @function@() {
  static constexpr EmbeddedFile files[] = {
@rows@  };
  return files;
}
}  // namespace @namespace@
")
  target_sources(retrygate_${module} PRIVATE "${output}")
  target_include_directories(retrygate_${module} PRIVATE "${PROJECT_SOURCE_DIR}")
endfunction()
