# Compiler settings of every target of ours, and the function that declares a module.

option(RETRYGATE_TESTS "Build the tests" ON)
option(RETRYGATE_BENCH "Build the benchmarks" OFF)
option(RETRYGATE_FUZZ "Build the fuzzer (clang), everything with sanitizers and its coverage" OFF)
option(RETRYGATE_SANITIZE "AddressSanitizer, UndefinedBehaviorSanitizer, hardened libstdc++" OFF)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tl-expected REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(Boost REQUIRED)
find_package(Eigen3 REQUIRED)
find_package(rapidcheck REQUIRED)
find_package(CLI11 REQUIRED)
if(RETRYGATE_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
  enable_testing()
endif()

add_library(retrygate_options INTERFACE)
# No contraction to fused multiply-add: the published experiments are reproduced to the last bit.
target_compile_options(retrygate_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -ffp-contract=off)
# g++ 12 warns falsely about std::string concatenation (GCC bug 105651) and about temporaries of
# aggregates with a std::string at -O2.
target_compile_options(retrygate_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict$<SEMICOLON>-Wno-maybe-uninitialized>)
# clang++ finds in every std::stable_sort that libstdc++ 12 uses what it declares deprecated.
target_compile_options(retrygate_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
if(RETRYGATE_FUZZ)
  set(RETRYGATE_SANITIZERS
    -fsanitize=fuzzer-no-link,address,signed-integer-overflow,float-cast-overflow,shift,bounds,integer-divide-by-zero,bool,enum,return,unreachable
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(retrygate_options INTERFACE ${RETRYGATE_SANITIZERS})
  target_link_options(retrygate_options INTERFACE ${RETRYGATE_SANITIZERS})
endif()
if(RETRYGATE_SANITIZE)
  # UBSan's full set makes CLI11 and Eigen take 20 to 40 s each under g++; this subset finds what
  # this code can do wrong at a quarter of the compile time. A null pointer is AddressSanitizer's find, too; checks for
  # null and alignment at every access make compilation 40 % longer.
  set(RETRYGATE_SANITIZERS
    -fsanitize=address,signed-integer-overflow,float-cast-overflow,shift,bounds,integer-divide-by-zero,bool,enum,return,unreachable
    -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_compile_options(retrygate_options INTERFACE ${RETRYGATE_SANITIZERS})
  target_compile_definitions(retrygate_options INTERFACE _GLIBCXX_ASSERTIONS)
  target_link_options(retrygate_options INTERFACE ${RETRYGATE_SANITIZERS})
endif()

# Several sources per compiler run: most of the time of a build goes into reading the same headers again and again.
# Names in unnamed namespaces are therefore unique within a target. -DRETRYGATE_UNITY=OFF builds file by file.
option(RETRYGATE_UNITY "Compile several sources at a time" ON)
function(retrygate_unity target)
  if(RETRYGATE_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  endif()
endfunction()

# retrygate_module(NAME [SHELVES ...] DEPENDS ... [PRIVATE ...])
# A static library of every .cpp of the folder that is no test, with its headers installed under
# include/retrygate, so that the same include line works in this repository and for a user.
function(retrygate_module name)
  cmake_parse_arguments(arg "" "" "DEPENDS;PRIVATE;EXCLUDE" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cpp")
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.hpp")
  list(FILTER headers EXCLUDE REGEX "/testing\\.hpp$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$|/bench/|/calibration/|/main\\.cpp$")
  foreach(pattern IN LISTS arg_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  add_library(retrygate_${name} STATIC ${sources})
  add_library(retrygate::${name} ALIAS retrygate_${name})
  set_target_properties(retrygate_${name} PROPERTIES EXPORT_NAME ${name})
  target_sources(retrygate_${name} PUBLIC FILE_SET HEADERS
    BASE_DIRS "${PROJECT_SOURCE_DIR}" FILES ${headers})
  target_compile_features(retrygate_${name} PUBLIC cxx_std_20)
  target_link_libraries(retrygate_${name}
    PUBLIC ${arg_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:retrygate_options>)
  # What a module uses inside and is header-only is no business of who links the installed library;
  # Threads alone is an interface target with something to link.
  foreach(dependency IN LISTS arg_PRIVATE)
    get_target_property(type ${dependency} TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY" AND NOT dependency STREQUAL "Threads::Threads")
      set(dependency $<BUILD_INTERFACE:${dependency}>)
    endif()
    target_link_libraries(retrygate_${name} PRIVATE ${dependency})
  endforeach()
endfunction()

# retrygate_test(NAME [TOGETHER SUITE ...] DEPENDS ...): one binary of the folder's *_test.cpp files (subfolders too).
# Every test is a process of its own, but for the suites of TOGETHER, whose tests share what takes long to make.
function(retrygate_test name)
  if(NOT RETRYGATE_TESTS)
    return()
  endif()
  cmake_parse_arguments(arg "" "" "DEPENDS;TOGETHER" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp")
  if(NOT sources)
    return()
  endif()
  add_executable(${name}_test ${sources})
  target_link_libraries(${name}_test PRIVATE retrygate_options ${arg_DEPENDS}
    GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name}_test PRIVATE
    RETRYGATE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RETRYGATE_BUILD_DIR="${PROJECT_BINARY_DIR}")
  # Tests of templates and tables gain nothing from the optimiser that their compilation does not lose.
  if(NOT RETRYGATE_SANITIZE)
    target_compile_options(${name}_test PRIVATE -Og)
  endif()
  retrygate_unity(${name}_test)
  foreach(suite IN LISTS arg_TOGETHER)
    add_test(NAME ${suite} COMMAND ${name}_test "--gtest_filter=${suite}.*")
    set_tests_properties(${suite} PROPERTIES TIMEOUT 600)
  endforeach()
  list(TRANSFORM arg_TOGETHER APPEND ".*")
  list(JOIN arg_TOGETHER ":" together)
  gtest_discover_tests(${name}_test TEST_FILTER "-${together}" DISCOVERY_TIMEOUT 60 PROPERTIES TIMEOUT 600)
endfunction()
