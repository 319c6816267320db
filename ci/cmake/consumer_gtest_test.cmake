# Installs this build into a scratch prefix, then builds and runs the tests of a user's own policy and loop.
cmake_minimum_required(VERSION 3.25)
set(scratch "${BUILD}/consumer-gtest")
file(REMOVE_RECURSE "${scratch}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${log}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${scratch}/prefix")
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${scratch}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}")
run("${CMAKE_COMMAND}" --build "${scratch}/build")
run("${scratch}/build/mine_test")

# The fault is found, by the invariant that is about it, with the least attempt: 200 ms * 2^5 > 5 s.
execute_process(COMMAND "${scratch}/build/mine_forgets_its_cap" --gtest_filter=Doubling.cap_respected
  RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
if(status EQUAL 0 OR NOT log MATCHES "attempt 6,")
  message(FATAL_ERROR "the forgotten cap was not found (${status}):\n${log}")
endif()
