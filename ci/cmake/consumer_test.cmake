# Installs this build into a scratch prefix, then builds and runs a project that only knows that prefix.
cmake_minimum_required(VERSION 3.25)
set(scratch "${BUILD}/consumer")
include("${CMAKE_CURRENT_LIST_DIR}/consumer.cmake")

# The packages that only our tests and the properties use are hidden, so that needing one shows.
build_consumer(-DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
run("${scratch}/build/consumer")

file(GLOB_RECURSE headers RELATIVE "${scratch}/prefix/include/retrygate"
  "${scratch}/prefix/include/retrygate/*")
if(NOT "policies/policy.hpp" IN_LIST headers)
  message(FATAL_ERROR "policies/policy.hpp is not under include/retrygate: ${headers}")
endif()
