# Installs this build into a scratch prefix, then builds and runs a project that only knows that prefix.
cmake_minimum_required(VERSION 3.25)
set(scratch "${BUILD}/consumer")
file(REMOVE_RECURSE "${scratch}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE log ERROR_VARIABLE log)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${status}): ${command}\n${log}")
  endif()
endfunction()

run("${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${scratch}/prefix")
# The packages that only our tests and the properties use are hidden, so that needing one shows.
run("${CMAKE_COMMAND}" -S "${SOURCE}" -B "${scratch}/build" -G "${GENERATOR}"
  "-DCMAKE_PREFIX_PATH=${scratch}/prefix" "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=${FLAGS}"
  -DCMAKE_DISABLE_FIND_PACKAGE_rapidcheck=ON -DCMAKE_DISABLE_FIND_PACKAGE_GTest=ON
  -DCMAKE_DISABLE_FIND_PACKAGE_CLI11=ON)
run("${CMAKE_COMMAND}" --build "${scratch}/build")
run("${scratch}/build/consumer")

file(GLOB_RECURSE headers RELATIVE "${scratch}/prefix/include/retrygate"
  "${scratch}/prefix/include/retrygate/*")
if(NOT "policies/policy.hpp" IN_LIST headers)
  message(FATAL_ERROR "policies/policy.hpp is not under include/retrygate: ${headers}")
endif()
