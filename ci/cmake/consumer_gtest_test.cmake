# Installs this build into a scratch prefix, then builds and runs the tests of a user's own policy and loop.
cmake_minimum_required(VERSION 3.25)
set(scratch "${BUILD}/consumer-gtest")
include("${CMAKE_CURRENT_LIST_DIR}/consumer.cmake")
build_consumer()
run("${scratch}/build/mine_test")

# The fault is found, by the invariant that is about it, with the least attempt: 200 ms * 2^5 > 5 s.
execute_process(COMMAND "${scratch}/build/mine_forgets_its_cap" --gtest_filter=Doubling.cap_respected
  RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(status EQUAL 0 OR NOT log MATCHES "attempt 6 the delay is 6.4s")
  message(FATAL_ERROR "the forgotten cap was not found (${status}):\n${log}")
endif()
